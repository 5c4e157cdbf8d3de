import type { DeadLetterReason } from '@millrace/contract';
import type { Logger } from 'pino';
import type { JobRecord } from '../domain/records.js';

/** What the pool tells about attempts that failed. */
export interface AttemptLog {
  /** A handler threw, or took too long. `error` is what it threw. */
  failed(attempt: LoggedAttempt & { readonly error: unknown }): void;
  /** The attempt is settled: the job will be tried again. */
  retrying(attempt: LoggedAttempt & { readonly delaySecs: number }): void;
  /** The attempt is settled: the job has failed for good. */
  deadLettered(attempt: LoggedAttempt & { readonly reason: DeadLetterReason; readonly error: string }): void;
}

export interface LoggedAttempt {
  readonly task: string;
  readonly queue: string;
  readonly jobId: string;
  /** The delivery, from 1. */
  readonly attempt: number;
}

export const loggedAttempt = (job: JobRecord): LoggedAttempt => ({
  task: job.task_name,
  queue: job.queue_name,
  jobId: job.id,
  attempt: job.delivery_count,
});

export function createAttemptLog(logger: Logger): AttemptLog {
  const fields = ({ task, queue, jobId, attempt }: LoggedAttempt) => ({ task, queue, job_id: jobId, attempt });
  return {
    failed: (attempt) => logger.warn({ ...fields(attempt), err: attempt.error }, 'an attempt failed'),
    retrying: (attempt) =>
      logger.info({ ...fields(attempt), delay_secs: attempt.delaySecs }, 'the job will be tried again'),
    deadLettered: (attempt) =>
      logger.error(
        { ...fields(attempt), reason: attempt.reason, error: attempt.error },
        'the job failed for good: it is a dead letter',
      ),
  };
}
