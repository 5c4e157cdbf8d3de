import { TERMINAL_JOB_STATUSES, type JobStatus } from '@millrace/contract';

/**
 * The life of a job as data: which event leads from which state to which. Everything that changes a job's state is one
 * of these events; a pair of state and event that is not here changes nothing. A test checks the SQL against this table
 * by driving every state through every event, and docs/state-machine.md is generated from it.
 */
export const JOB_EVENTS = [
  'claim',
  'complete',
  'fail_with_budget',
  'fail_without_budget',
  'fail_permanently',
  'handler_missing',
  'expire_with_budget',
  'expire_without_budget',
  'release_first',
  'release_retry',
  'cancel',
] as const;

export type JobEvent = (typeof JOB_EVENTS)[number];

/** For docs/state-machine.md: what each event is. */
export const EVENT_MEANINGS: Readonly<Record<JobEvent, string>> = {
  claim: 'a worker leases the job once scheduled_at has passed',
  complete: 'its worker reports success under the lease token',
  fail_with_budget: 'its worker reports a retryable failure or exceeds the timeout, and retries are left',
  fail_without_budget: 'the same, but no retry is left',
  fail_permanently: 'its worker reports a failure that is not retryable',
  handler_missing: 'the in-process pool claimed it and has no handler for its task',
  expire_with_budget: 'its lease expired and the janitor reclaimed it, and retries are left',
  expire_without_budget: 'the same, but no retry is left',
  release_first: 'its worker gave it back unfinished (shutdown, or a client that hung up), and it has never failed',
  release_retry: 'the same, but it has failed before',
  cancel: 'its tenant cancels it',
};

export interface Transition {
  readonly to: JobStatus;
  /** For docs/state-machine.md: what else happens in the same transaction. */
  readonly also: string;
}

type Table = Readonly<Record<JobEvent, Readonly<Partial<Record<JobStatus, Transition>>>>>;

const toRunning: Transition = { to: 'running', also: 'a new lease token; delivery_count + 1; started_at' };
const toRetrying: Transition = {
  to: 'retrying',
  also: 'retry_count + 1; scheduled_at and next_retry_at move to the end of the backoff; error_message',
};
const exhausted: Transition = { to: 'failed', also: 'a dead letter, reason max_attempts_exceeded; completed_at' };
const released =
  'as before the claim: same scheduled_at, no retry used; a claim whose client had hung up is no delivery either';
const toCancelled: Transition = { to: 'cancelled', also: 'completed_at; no dead letter' };

export const TRANSITIONS: Table = {
  claim: { pending: toRunning, retrying: toRunning },
  complete: { running: { to: 'completed', also: 'result; completed_at; the owning workflow advances' } },
  fail_with_budget: { running: toRetrying },
  fail_without_budget: { running: exhausted },
  fail_permanently: { running: { to: 'failed', also: 'a dead letter, reason non_retryable; completed_at' } },
  handler_missing: { running: { to: 'failed', also: 'a dead letter, reason handler_not_found; completed_at' } },
  expire_with_budget: { running: toRetrying },
  expire_without_budget: { running: exhausted },
  release_first: { running: { to: 'pending', also: released } },
  release_retry: { running: { to: 'retrying', also: released } },
  cancel: { pending: toCancelled, retrying: toCancelled, running: toCancelled },
};

const TERMINAL: ReadonlySet<JobStatus> = new Set(TERMINAL_JOB_STATUSES);

export const isTerminal = (status: JobStatus): boolean => TERMINAL.has(status);

/** The state after the event, or null if the event changes nothing. */
export function nextState(from: JobStatus, event: JobEvent): JobStatus | null {
  return TRANSITIONS[event][from]?.to ?? null;
}

/**
 * How far a job has come. The rank of a job's states only grows, so two of them show whether one in between was missed.
 * Waiting after d deliveries ranks 2d, running the d-th delivery 2d − 1.
 */
export function rank(state: { readonly status: JobStatus; readonly delivery_count: number }): number {
  if (isTerminal(state.status)) return Number.POSITIVE_INFINITY;
  return state.status === 'running' ? 2 * state.delivery_count - 1 : 2 * state.delivery_count;
}
