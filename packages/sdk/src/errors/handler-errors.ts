import { milliseconds, type Duration } from '../shared/duration.js';
import { knownInBothFormats } from '../shared/both-formats.js';

/**
 * Thrown by a handler: the job fails for good, even if it has retries left.
 *
 * @example if (answer.status === 404) throw new NonRetryableError('no such user');
 */
export class NonRetryableError extends Error {
  override readonly name: string = 'NonRetryableError';
}

/**
 * Thrown by a handler: the attempt failed, and the next one is to start after this time instead of the computed delay.
 *
 * @example if (answer.status === 429) throw new RetryAfterError('slow down', '90s');
 */
export class RetryAfterError extends Error {
  override readonly name = 'RetryAfterError';
  /** When to try again, in milliseconds. */
  readonly afterMs: number;

  constructor(message: string, after: Duration, options?: ErrorOptions) {
    super(message, options);
    this.afterMs = milliseconds(after);
  }
}

/** How a child ended that its parent waited for. */
export interface ChildEnd {
  /** What its parent calls it. */
  readonly name: string;
  readonly jobId: string;
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly error: string | null;
}

/**
 * Thrown by `ctx.call` and `ctx.callAll`: a child failed, was cancelled, or did not end in time. Unless the handler
 * catches it, the job fails for good: trying again would find the same.
 */
export class ChildFailedError extends NonRetryableError {
  override readonly name = 'ChildFailedError';
  /** Those that did not complete; none if the time was over. */
  readonly children: readonly ChildEnd[];
  /** Whether the time was over. */
  readonly timedOut: boolean;

  constructor(message: string, children: readonly ChildEnd[]) {
    super(message);
    this.children = children;
    this.timedOut = children.length === 0;
  }
}

/** The input or the result of a handler does not match its schema. Trying again would not help. */
export class MismatchError extends NonRetryableError {
  override readonly name = 'MismatchError';
}

/** The reason of a handler's `signal`: the job was cancelled. Nothing is reported. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled';
}

/** The reason of a handler's `signal`: another worker may hold the job by now. Nothing is reported. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** The reason of a handler's `signal`: the attempt took longer than the task's `timeout`. */
export class JobTimeout extends Error {
  override readonly name = 'JobTimeout';
}

/** The reason of a handler's `signal`: the worker is stopping and gives the job back. */
export class ShuttingDown extends Error {
  override readonly name = 'ShuttingDown';
}

knownInBothFormats({
  NonRetryableError,
  RetryAfterError,
  ChildFailedError,
  MismatchError,
  JobCancelled,
  LeaseLost,
  JobTimeout,
  ShuttingDown,
});
