/** Queues, workers and tasks. */
import type { RateInput } from './jobs.js';

/** What an operator has set for a queue. */
export interface ShownQueueSettings {
  running: number | null;
  rate: RateInput | null;
  share: 'tenant' | null;
}

export interface QueueDepth {
  queue: string;
  pending: number;
  scheduled: number;
  running: number;
  oldest_pending_age_secs: number | null;
  retrying: number;
  retrying_later: number;
  paused_at: string | null;
  paused_reason: string | null;
  paused_by: string | null;
  last_lease_at: string | null;
  settings: ShownQueueSettings | null;
}

export interface Queues {
  queues: QueueDepth[];
  has_more?: boolean;
  next_cursor?: string;
  warnings?: string[];
}

export interface QueueDetail extends QueueDepth {
  by_task: {
    task_name: string;
    waiting: number;
    scheduled: number;
    retrying: number;
    retrying_later: number;
    running: number;
  }[];
  by_task_exact: boolean;
  next: { id: string; task_name: string; priority: number; scheduled_at: string }[];
  slots: { offered: number; in_use: number } | null;
}

export interface Worker {
  worker_id: string;
  queue_name: string;
  running: number;
  running_jobs: { id: string; task_name: string; queue: string; started_at: string }[];
  first_seen_at: string;
  last_seen_at: string;
  completed: number;
  failed: number;
  expired: number;
  slots: number | null;
  in_use: number | null;
  tasks: string[] | null;
}

export interface Workers {
  workers: Worker[];
  warnings?: string[];
}

export interface LimitUse {
  queue: string;
  key: string;
  running: number;
  limit: number | null;
  rate: RateInput | null;
  waiting: number;
  oldest: string | null;
}

export interface LimitPage {
  limits: LimitUse[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}

export interface AuditEntry {
  at: string;
  action: 'pause_queue' | 'resume_queue' | 'set_queue' | 'read_tenant';
  target: string;
  by: string;
  request_id: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

export interface AuditPage {
  entries: AuditEntry[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}

export interface Tasks {
  tasks: string[];
}
