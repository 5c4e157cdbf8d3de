import type * as Wire from '../wire/index.js';
import { dateOf, dateOrNull } from './dates.js';

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
    createdAt: dateOf(letter.created_at),
    replayedAt: dateOrNull(letter.replayed_at),
    replayJobId: letter.replay_job_id,
    // A server before 0.3 leaves these out.
    retryCount: letter.retry_count ?? 0,
    fingerprint: letter.fingerprint ?? '',
  };
}
