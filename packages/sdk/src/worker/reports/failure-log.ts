import type { JsonObject } from '../../json/object.js';
import type { Logger } from '../../shared/logger.js';
import type { RunningJob } from '../../task/types.js';
import { monotonicMs } from '../clock.js';
import type { RetryRule } from '../leases/held-jobs.js';
import type { Outcome } from './outcome.js';

type Failed = Extract<Outcome, { kind: 'failed' }>;
/** A worker whose every job fails must not fill the disk: this many lines at once, then so many per second. */
const BURST = 50;
const PER_SECOND = 5;
const LINE_MAX_LENGTH = 300;

/**
 * One line per failed attempt: a warning if it will be tried again, an error if that was the last. The stack comes with
 * it while developing, and at `debug` in production.
 */
export class FailureLog {
  readonly #logger: Logger;
  #allowance = BURST;
  #filledAt = monotonicMs();
  #leftOut = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  write(job: RunningJob, failed: Failed, rule: RetryRule): void {
    if (!this.#allows()) return;
    if (this.#leftOut > 0) this.#logger.warn(`${this.#leftOut} more failures were not logged`);
    this.#leftOut = 0;
    const { level, then } = whatFollows(job, failed, rule);
    const attempt = `attempt ${job.retryCount + 1} of ${rule.max_retries + 1}`;
    const message = `${job.task} failed: ${attempt} of the job ${job.id}, ${then}: ${firstLine(failed.error)}`;
    const fields: JsonObject = { job: job.id, task: job.task, attempt: job.attempt };
    const stack = failed.details?.stack;
    if (stack === undefined || stack === null) return this.#logger[level](message, fields);
    if (process.env.NODE_ENV !== 'production') return this.#logger[level](message, { ...fields, stack });
    this.#logger[level](message, fields);
    this.#logger.debug(`the stack of that failure`, { ...fields, stack });
  }

  #allows(): boolean {
    const now = monotonicMs();
    this.#allowance = Math.min(BURST, this.#allowance + ((now - this.#filledAt) / 1_000) * PER_SECOND);
    this.#filledAt = now;
    if (this.#allowance < 1) {
      this.#leftOut++;
      return false;
    }
    this.#allowance--;
    return true;
  }
}

/** What becomes of the job. The service adds its jitter to the delay. */
function whatFollows(
  { retryCount }: RunningJob,
  { retryable, retryAfterSecs }: Failed,
  rule: RetryRule,
): { readonly level: 'warn' | 'error'; readonly then: string } {
  if (!retryable) return { level: 'error', then: 'for good' };
  if (retryCount >= rule.max_retries) return { level: 'error', then: 'its last' };
  const then = retryAfterSecs === undefined ? `about ${delaySecs(retryCount, rule)}` : String(retryAfterSecs);
  return { level: 'warn', then: `next try in ${then} s` };
}

function delaySecs(retryCount: number, rule: RetryRule): number {
  const { retry_backoff: backoff, retry_delay_secs: first, retry_max_delay_secs: most } = rule;
  const grown = backoff === 'fixed' ? first : backoff === 'linear' ? first * (retryCount + 1) : first * 2 ** retryCount;
  return Math.min(grown, most);
}

function firstLine(error: string): string {
  const line = error.trim().split('\n', 1)[0] ?? '';
  return line.length <= LINE_MAX_LENGTH ? line : `${line.slice(0, LINE_MAX_LENGTH)}…`;
}
