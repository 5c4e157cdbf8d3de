import type { DeadLetterReason, JobStatus, WorkflowStatus } from '@millrace/contract';
import type { Instant } from './records.js';

/** What lists show and bulk operations change. Null: whatever it is. */
export interface CreatedRange {
  readonly createdAfter: Instant | null;
  readonly createdBefore: Instant | null;
}

export interface JobFilter extends CreatedRange {
  /** None: every state of a list; of an operation, those that can be cancelled. */
  readonly statuses: readonly JobStatus[];
  readonly queue: string | null;
  readonly task: string | null;
  /** As it was sent: a malformed id matches no jobs. */
  readonly workflowId: string | null;
  readonly idempotencyKey: string | null;
  /** As it was sent: a malformed id matches no jobs. Operations do not have it. */
  readonly parentId?: string | null;
}

export interface DeadLetterFilter extends CreatedRange {
  readonly queue: string | null;
  readonly task: string | null;
  readonly reason: DeadLetterReason | null;
  /** Null: all of a list; of an operation, those that can be replayed. */
  readonly replayed: boolean | null;
  /** As it was sent: a malformed id matches no dead letters. */
  readonly jobId: string | null;
  readonly fingerprint: string | null;
}

export interface WorkflowScope extends CreatedRange {
  /** Null: all of a list; of an operation, those that failed as a whole or in part. */
  readonly status: WorkflowStatus | null;
  readonly name: string | null;
}
