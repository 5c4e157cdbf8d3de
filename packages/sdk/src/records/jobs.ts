import type { JsonObject } from '../json/object.js';
import type * as Wire from '../wire/index.js';
import { dateOf, dateOrNull } from './dates.js';

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
  /** The same, with the class and the stack of the error where a job is read by itself and its worker reported them. */
  error: JobError | null;
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
  /** What it waits for, while it is suspended; not in lists. */
  waitingFor: WaitingFor | null;
  /** The job that created it while it ran, if one did. */
  parentJobId: string | null;
}

/** The last error of a job. */
export interface JobError {
  /** `Error` unless the worker reported the class. */
  name: string;
  message: string;
  stack?: string;
}

function errorOf({ error_message: message, error_details: details }: Wire.Job): JobError | null {
  if (message === null) return null;
  const { name, stack } = details ?? {};
  return { name: name ?? 'Error', message, ...(typeof stack === 'string' && { stack }) };
}

/** What a suspended job waits for. */
export interface WaitingFor {
  checkpoint: string;
  since: Date;
  until: Date;
  /** Null if it sleeps. */
  signal: string | null;
  key: string | null;
  ask: Wire.Ask | null;
  /** How many children it waits for, and how many of those have not ended. */
  children: { total: number; unfinished: number } | null;
}

const waitingForOf = ({ since, until, ...waiting }: Wire.WaitingFor): WaitingFor => ({
  ...waiting,
  since: dateOf(since),
  until: dateOf(until),
});

export function jobOf(job: Wire.Job): Job {
  return {
    id: job.id,
    queue: job.queue_name,
    task: job.task_name,
    payload: job.payload,
    status: job.status,
    result: job.result,
    errorMessage: job.error_message,
    error: errorOf(job),
    retryCount: job.retry_count,
    deliveryCount: job.delivery_count,
    createdAt: dateOf(job.created_at),
    scheduledAt: dateOf(job.scheduled_at),
    startedAt: dateOrNull(job.started_at),
    completedAt: dateOrNull(job.completed_at),
    nextRetryAt: dateOrNull(job.next_retry_at),
    key: job.idempotency_key,
    workflow: job.workflow_id === null ? null : { id: job.workflow_id, step: job.workflow_step_id ?? '' },
    tenant: job.tenant_id,
    metadata: job.metadata,
    // A server before 0.3 leaves these out.
    workerId: job.worker_id ?? null,
    leaseExpiresAt: dateOrNull(job.lease_expires_at),
    progress: job.progress ?? null,
    waitingFor: job.waiting_for === undefined ? null : waitingForOf(job.waiting_for),
    parentJobId: job.parent_job_id ?? null,
  };
}

/** Whether a job has reached a state that it never leaves. */
export function hasEnded(status: Wire.JobStatus): status is Wire.TerminalJobStatus {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** One delivery of a job to a worker. */
export interface Attempt {
  /** 1 for the first. */
  number: number;
  outcome: Wire.Attempt['outcome'];
  workerId: string | null;
  startedAt: Date | null;
  endedAt: Date | null;
  errorMessage: string | null;
  errorDetails: Wire.ErrorDetails | null;
  nextRetryAt: Date | null;
}

export function attemptOf(attempt: Wire.Attempt): Attempt {
  return {
    number: attempt.number,
    outcome: attempt.outcome,
    workerId: attempt.worker_id,
    startedAt: dateOrNull(attempt.started_at),
    endedAt: dateOrNull(attempt.ended_at),
    errorMessage: attempt.error_message,
    errorDetails: attempt.error_details,
    nextRetryAt: dateOrNull(attempt.next_retry_at),
  };
}

/** Why a job is not running, or that it is, or that it has ended. */
export interface Why {
  reason: Wire.Why['reason'];
  /** One sentence for a person. */
  message: string;
  until: Date | null;
  /** How many jobs are ahead of it. */
  ahead: number | null;
  /** The key that it waits for, if it is `limited`. */
  limit: { key: string; running: number; limit: number } | null;
  lastLeaseAt: Date | null;
}

export function whyOf(why: Wire.Why): Why {
  return {
    reason: why.reason,
    message: why.message,
    until: dateOrNull(why.until),
    ahead: why.ahead ?? null,
    limit: why.limit ?? null,
    lastLeaseAt: dateOrNull(why.last_lease_at),
  };
}
