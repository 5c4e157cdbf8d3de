import type { Count, DeadLetterReason, JobStatus, OperationAction, OperationStatus } from '@millrace/contract';
import type { Instant, JsonText } from './records.js';

/** What bulk operations are asked for, and what they tell. */
interface Created {
  readonly createdAfter: Instant | null;
  readonly createdBefore: Instant | null;
}

/** The jobs that a filter selects. */
export interface JobScope extends Created {
  /** None: those that can be cancelled. */
  readonly statuses: readonly JobStatus[];
  readonly queue: string | null;
  readonly task: string | null;
  readonly workflowId: string | null;
  readonly idempotencyKey: string | null;
}

/** The dead letters that a filter selects. */
export interface DeadLetterScope extends Created {
  readonly queue: string | null;
  readonly task: string | null;
  readonly reason: DeadLetterReason | null;
  /** Null: those that can be replayed. */
  readonly replayed: boolean | null;
  readonly jobId: string | null;
  readonly fingerprint: string | null;
}

/** What to do, and to what: a scope that suits the action, or ids. */
export type OperationSpec =
  | { readonly action: OperationAction; readonly ids: readonly string[] }
  | { readonly action: 'cancel_jobs'; readonly ids: null; readonly filter: JsonText; readonly scope: JobScope }
  | {
      readonly action: 'replay_dead_letters';
      readonly ids: null;
      readonly filter: JsonText;
      readonly scope: DeadLetterScope;
    };

export interface OperationRecord {
  readonly id: string;
  readonly action: OperationAction;
  /** As it was given; null: ids were. */
  readonly filter: JsonText | null;
  readonly status: OperationStatus;
  readonly matched: Count;
  readonly done: number;
  readonly changed: number;
  readonly skipped: number;
  readonly outcome: { readonly completed: number; readonly failed: number; readonly unfinished: number };
  readonly created_at: Instant;
  readonly completed_at: Instant | null;
}

export interface OperationItem {
  readonly id: string;
  readonly task_name: string;
  readonly queue_name: string;
  readonly created_at: Instant;
}

export interface DryRunRecord {
  readonly matched: Count;
  readonly sample: readonly OperationItem[];
}
