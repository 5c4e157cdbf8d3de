import type { DeadLetterReason, JobConfig } from '@millrace/contract';

/** What happens to an attempt that failed. */
export type FailureVerdict =
  { readonly kind: 'retry'; readonly delaySecs: number } | { readonly kind: 'dead'; readonly reason: DeadLetterReason };

export interface FailedAttempt {
  /** Retries used before this failure. */
  readonly retryCount: number;
  readonly retryable: boolean;
  /** When its worker wants it to be tried again: taken as it is, neither capped nor jittered. */
  readonly retryAfterSecs?: number | null;
}

/** `random` is uniform in [0, 1). */
export function judgeFailure(attempt: FailedAttempt, config: JobConfig, random: number): FailureVerdict {
  if (!attempt.retryable) return { kind: 'dead', reason: 'non_retryable' };
  if (attempt.retryCount >= config.max_retries) return { kind: 'dead', reason: 'max_attempts_exceeded' };
  const delaySecs = attempt.retryAfterSecs ?? retryDelaySecs(config, attempt.retryCount, random);
  return { kind: 'retry', delaySecs };
}

/** The delay before retry n, counting from 0: grown, then capped, then jittered; in seconds, with fractions. */
export function retryDelaySecs(config: JobConfig, n: number, random: number): number {
  const capped = Math.min(grownDelay(config, n), config.retry_max_delay_secs);
  const factor = 1 - config.jitter_factor + 2 * config.jitter_factor * random;
  return capped * factor;
}

function grownDelay({ retry_backoff, retry_delay_secs }: JobConfig, n: number): number {
  switch (retry_backoff) {
    case 'fixed':
      return retry_delay_secs;
    case 'linear':
      return retry_delay_secs * (n + 1);
    case 'exponential':
      // 2^n overflows to Infinity beyond n = 1023, and 0 × Infinity is not a number.
      return retry_delay_secs === 0 ? 0 : retry_delay_secs * 2 ** n;
  }
}
