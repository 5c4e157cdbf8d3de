import type { JsonObject } from './json.js';
import type * as Wire from './wire.js';

/** A job, as the service knows it. */
export interface Job {
  id: string;
  queue: string;
  task: string;
  payload: JsonObject;
  status: Wire.JobStatus;
  /** What the handler returned; null until the job completes. */
  result: JsonObject | null;
  /** What the last failed attempt reported. */
  errorMessage: string | null;
  retryCount: number;
  /** How often a worker has claimed it. */
  deliveryCount: number;
  createdAt: Date;
  /** When it becomes claimable. */
  scheduledAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  nextRetryAt: Date | null;
  /** The key it was created with. */
  key: string | null;
  workflow: { id: string; step: string } | null;
  tenant: string;
  metadata: JsonObject;
  /** Who runs it, while it runs. */
  workerId: string | null;
  leaseExpiresAt: Date | null;
  /** What the running attempt last said about itself. */
  progress: JsonObject | null;
}

/** An instant of the service: milliseconds are kept, microseconds are not. */
export const instant = (text: string): Date => new Date(text);
export const instantOrNull = (text: string | null | undefined): Date | null =>
  text === null || text === undefined ? null : new Date(text);

export function jobOf(job: Wire.Job): Job {
  return {
    id: job.id,
    queue: job.queue_name,
    task: job.task_name,
    payload: job.payload,
    status: job.status,
    result: job.result,
    errorMessage: job.error_message,
    retryCount: job.retry_count,
    deliveryCount: job.delivery_count,
    createdAt: instant(job.created_at),
    scheduledAt: instant(job.scheduled_at),
    startedAt: instantOrNull(job.started_at),
    completedAt: instantOrNull(job.completed_at),
    nextRetryAt: instantOrNull(job.next_retry_at),
    key: job.idempotency_key,
    workflow: job.workflow_id === null ? null : { id: job.workflow_id, step: job.workflow_step_id ?? '' },
    tenant: job.tenant_id,
    metadata: job.metadata,
    // A server before 0.3 leaves these out.
    workerId: job.worker_id ?? null,
    leaseExpiresAt: instantOrNull(job.lease_expires_at),
    progress: job.progress ?? null,
  };
}

/** Whether a job has reached a state that it never leaves. */
export function hasEnded(status: Wire.JobStatus): status is Wire.TerminalJobStatus {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
