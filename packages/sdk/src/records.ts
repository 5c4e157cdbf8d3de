import type { JsonObject } from './json.js';
import type * as Wire from './wire/index.js';

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

/** A workflow, as the service knows it. */
export interface Workflow {
  id: string;
  name: string;
  status: Wire.WorkflowStatus;
  /** The results of the steps that have completed, merged: keys first, then each whole result under its step's name. */
  context: JsonObject;
  metadata: JsonObject;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
}

/** One step of a running workflow. */
export interface WorkflowStep {
  name: string;
  status: Wire.StepStatus;
  /** Null until the steps before it have completed. */
  jobId: string | null;
  startedAt: Date | null;
  completedAt: Date | null;
  attempts: number;
  errorMessage: string | null;
}

export function workflowOf(workflow: Wire.Workflow): Workflow {
  return {
    id: workflow.id,
    name: workflow.name,
    status: workflow.status,
    context: workflow.context,
    metadata: workflow.metadata,
    createdAt: instant(workflow.created_at),
    startedAt: instantOrNull(workflow.started_at),
    completedAt: instantOrNull(workflow.completed_at),
  };
}

export function stepOf(step: Wire.WorkflowStep): WorkflowStep {
  return {
    name: step.name,
    status: step.status,
    jobId: step.job_id,
    // A server before 0.3 leaves these out.
    startedAt: instantOrNull(step.started_at),
    completedAt: instantOrNull(step.completed_at),
    attempts: step.attempts ?? 0,
    errorMessage: step.error_message ?? null,
  };
}

/** A schedule, as the service knows it. */
export interface Schedule {
  id: string;
  name: string;
  cron: string;
  timezone: string;
  task: string;
  payload: JsonObject;
  queue: string;
  /** False while paused. */
  enabled: boolean;
  nextRunAt: Date | null;
  lastEnqueuedAt: Date | null;
  createdAt: Date;
}

export function scheduleOf(cron: Wire.Cron): Schedule {
  return {
    id: cron.id,
    name: cron.name,
    cron: cron.cron_expr,
    timezone: cron.timezone,
    task: cron.task_name,
    payload: cron.payload,
    queue: cron.queue_name,
    enabled: cron.enabled,
    nextRunAt: instantOrNull(cron.next_run_at),
    lastEnqueuedAt: instantOrNull(cron.last_enqueued_at),
    createdAt: instant(cron.created_at),
  };
}

/** One firing of a schedule. */
export interface Firing {
  /** When the schedule was due. */
  occurrence: Date;
  firedAt: Date;
  kind: 'on_time' | 'catch_up' | 'triggered';
  jobId: string;
}

export function firingOf(firing: Wire.CronFiring): Firing {
  return {
    occurrence: instant(firing.occurrence),
    firedAt: instant(firing.fired_at),
    kind: firing.kind,
    jobId: firing.job_id,
  };
}

/** The record of a job that failed for good. */
export interface DeadLetter {
  id: number;
  jobId: string;
  task: string;
  queue: string;
  reason: Wire.DeadLetterReason;
  errorMessage: string | null;
  createdAt: Date;
  replayedAt: Date | null;
  /** The job that the replay created. */
  replayJobId: string | null;
  retryCount: number;
  /** The same for dead letters of one task, reason and kind of error. */
  fingerprint: string;
}

export function deadLetterOf(letter: Wire.DeadLetter): DeadLetter {
  return {
    id: letter.id,
    jobId: letter.job_id,
    task: letter.task_name,
    queue: letter.queue_name,
    reason: letter.reason,
    errorMessage: letter.error_message,
    createdAt: instant(letter.created_at),
    replayedAt: instantOrNull(letter.replayed_at),
    replayJobId: letter.replay_job_id,
    // A server before 0.3 leaves these out.
    retryCount: letter.retry_count ?? 0,
    fingerprint: letter.fingerprint ?? '',
  };
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
    startedAt: instantOrNull(attempt.started_at),
    endedAt: instantOrNull(attempt.ended_at),
    errorMessage: attempt.error_message,
    errorDetails: attempt.error_details,
    nextRetryAt: instantOrNull(attempt.next_retry_at),
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
  lastLeaseAt: Date | null;
}

export function whyOf(why: Wire.Why): Why {
  return {
    reason: why.reason,
    message: why.message,
    until: instantOrNull(why.until),
    ahead: why.ahead ?? null,
    lastLeaseAt: instantOrNull(why.last_lease_at),
  };
}
