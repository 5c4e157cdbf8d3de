/** Changes to many jobs at once. */
import type { Count } from './common.js';
import type { DeadLetterReason } from './dead-letters.js';

export interface OperationFilter {
  status?: string;
  queue?: string;
  task?: string;
  due?: boolean;
  error?: string;
  metadata?: Record<string, string>;
  workflow_id?: string;
  idempotency_key?: string;
  queue_name?: string;
  task_name?: string;
  reason?: DeadLetterReason;
  replayed?: boolean;
  job_id?: string;
  fingerprint?: string;
  name?: string;
  created_after?: string;
  created_before?: string;
}

export interface CreateOperation {
  action: 'cancel_jobs' | 'replay_dead_letters' | 'resume_workflows' | 'run_jobs_now' | 'rerun_jobs';
  filter?: OperationFilter;
  ids?: string[] | null;
  dry_run?: boolean | null;
  keep_checkpoints?: boolean | string[] | null;
}

export interface OperationCreated {
  operation_id: string;
  warnings?: string[];
}

export interface DryRun {
  matched: Count;
  sample: { id: string; task_name?: string; queue_name?: string; name?: string; created_at: string }[];
  warnings?: string[];
}

export interface Operation {
  id: string;
  action: 'cancel_jobs' | 'replay_dead_letters' | 'resume_workflows' | 'run_jobs_now' | 'rerun_jobs';
  filter: OperationFilter | null;
  status: 'running' | 'completed' | 'stopped' | 'failed';
  matched: Count;
  done: number;
  changed: number;
  skipped: number;
  outcome: { completed: number; failed: number; unfinished: number };
  created_at: string;
  completed_at: string | null;
}

export interface Operations {
  operations: Operation[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}
