/** Queues, workers and tasks. */

export interface QueueDepth {
  queue: string;
  pending: number;
  scheduled: number;
  running: number;
  oldest_pending_age_secs: number | null;
  retrying: number;
  paused_at: string | null;
  last_lease_at: string | null;
}

export interface Queues {
  queues: QueueDepth[];
  has_more?: boolean;
  next_cursor?: string;
  warnings?: string[];
}

export interface QueueDetail extends QueueDepth {
  by_task: { task_name: string; waiting: number; running: number }[];
  by_task_exact: boolean;
  next: { id: string; task_name: string; priority: number; scheduled_at: string }[];
}

export interface Worker {
  worker_id: string;
  queue_name: string;
  running: number;
  last_seen_at: string;
  completed: number;
  failed: number;
  expired: number;
}

export interface Workers {
  workers: Worker[];
  warnings?: string[];
}

export interface LimitUse {
  queue: string;
  key: string;
  running: number;
  limit: number;
  waiting: number;
  oldest: string | null;
}

export interface LimitPage {
  limits: LimitUse[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}

export interface Tasks {
  tasks: string[];
}
