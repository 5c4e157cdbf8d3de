import type { JobRecord } from './records.js';

/** As much of a state as is needed to tell whether one was missed after it, and what that looked like. */
export type Position = Pick<
  JobRecord,
  'status' | 'delivery_count' | 'retry_count' | 'error_message' | 'scheduled_at' | 'started_at'
>;

/** Without the rest of the record, which may be large. */
export function positionOf(job: JobRecord): Position {
  const { status, delivery_count, retry_count, error_message, scheduled_at, started_at } = job;
  return { status, delivery_count, retry_count, error_message, scheduled_at, started_at };
}

/**
 * The state that must lie between two others. A job that waited, and after one more delivery waits again or has ended,
 * ran in between. A job that ran, and runs again or was cancelled after one more retry, waited in between.
 */
export function missedBetween(last: Position, next: JobRecord): JobRecord | null {
  const nobody = { worker_id: null, lease_expires_at: null, progress: null };
  const shared = { ...next, ...nobody, result: null, completed_at: null };
  if (last.status !== 'running' && next.status !== 'running') {
    if (next.delivery_count !== last.delivery_count + 1 || next.started_at === null) return null;
    const { error_message, scheduled_at } = last;
    const retry_count = next.status === 'retrying' ? next.retry_count - 1 : next.retry_count;
    return { ...shared, status: 'running', next_retry_at: null, error_message, scheduled_at, retry_count };
  }
  const waited = last.status === 'running' && (next.status === 'running' || wasCancelledWaiting(last, next));
  if (!waited) return null;
  const isRetry = next.retry_count > 0;
  return {
    ...shared,
    status: isRetry ? 'retrying' : 'pending',
    delivery_count: next.delivery_count - (next.status === 'running' ? 1 : 0),
    started_at: last.started_at,
    next_retry_at: isRetry ? next.scheduled_at : null,
  };
}

const wasCancelledWaiting = (last: Position, next: JobRecord): boolean =>
  next.status === 'cancelled' && next.retry_count > last.retry_count;
