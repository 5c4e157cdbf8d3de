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
  /** Whether jobs that wait are due. Null or absent: whatever it is, as in what follows. */
  readonly due?: boolean | null;
  /** Text in the error of a failed or retrying job. */
  readonly error?: string | null;
  readonly metadata?: MetadataField | null;
  /** As it was sent: a malformed id matches no jobs. */
  readonly workflowId: string | null;
  readonly idempotencyKey: string | null;
  /** As it was sent: a malformed id matches no jobs. Operations do not have it. */
  readonly parentId?: string | null;
}

/** A field of the first level, and the text of its value. */
export interface MetadataField {
  readonly field: string;
  readonly value: string;
}

/** The states of jobs that have an error. */
const WITH_ERRORS: readonly JobStatus[] = ['failed', 'retrying'];

/** The states of jobs that wait: these are due, or not yet. */
const WAITING: readonly JobStatus[] = ['pending', 'retrying'];

/**
 * The states that are looked through: of a search for errors, those that have any; of what is due or not, those that
 * wait. Null: no job can match.
 */
export function searchedStatuses({ statuses, error = null, due = null }: JobFilter): readonly JobStatus[] | null {
  const among = [...(error === null ? [] : [WITH_ERRORS]), ...(due === null ? [] : [WAITING])];
  const [first, ...others] = statuses.length === 0 ? among : [statuses, ...among];
  if (first === undefined) return statuses;
  const searched = first.filter((status) => others.every((each) => each.includes(status)));
  return searched.length === 0 ? null : searched;
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
