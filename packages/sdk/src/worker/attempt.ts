import { JobCancelled, JobTimeout, LeaseLost, NonRetryableError, ShuttingDown } from '../handler-errors.js';
import type { JsonObject } from '../json.js';
import type { Handler, JobContext } from '../task-types.js';
import type { HeldJob } from './held-jobs.js';
import { completion, failure, retryableFailure, type Outcome } from './outcome.js';

/** What is to be done with a job once its handler has ended. */
export type Verdict = Outcome | 'cancelled' | 'lost';

/** How long a handler whose time is up may take to notice, before its attempt is reported as failed without it. */
const GRACE_MS = 5_000;

export interface AttemptOptions {
  readonly held: HeldJob;
  readonly handler: Handler | undefined;
  readonly context: JobContext;
  readonly wrap: (run: () => Promise<JsonObject>) => Promise<JsonObject>;
}

export interface Attempt {
  /** How the job ends; known at the latest some seconds after its time is up. */
  readonly verdict: Promise<Verdict>;
  /** When the handler itself has ended: until then it takes a slot. */
  readonly ended: Promise<void>;
}

/** Runs a handler once. */
export function startAttempt({ held, handler, context, wrap }: AttemptOptions): Attempt {
  const { job, abort, timeoutMs, payload } = held;
  if (handler === undefined) {
    const verdict = retryableFailure(`this worker has no handler for the task ${job.task}`);
    return { verdict: Promise.resolve(verdict), ended: Promise.resolve() };
  }
  const timer = setTimeout(() => abort.abort(new JobTimeout(`timed out after ${timeoutMs / 1_000} s`)), timeoutMs);
  // A hook may throw, too, before it returns a promise.
  const run = (async () => wrap(async () => handler.run(payload, context)))();
  const own = run.then(
    (result) => verdictOf(abort.signal, completion(result)),
    (error: unknown) => verdictOf(abort.signal, failure(error)),
  );
  const ended = own.then(() => clearTimeout(timer));
  return { verdict: Promise.race([own, overtime(abort.signal, ended)]), ended };
}

/** What the handler said counts only if it was not told to stop before, or was told to for the worker's own sake. */
function verdictOf(signal: AbortSignal, said: Outcome): Verdict {
  if (!signal.aborted) return said;
  const reason: unknown = signal.reason;
  if (reason instanceof JobCancelled) return 'cancelled';
  if (reason instanceof LeaseLost) return 'lost';
  if (reason instanceof JobTimeout) return retryableFailure(reason.message, reason);
  if (!(reason instanceof ShuttingDown)) return said;
  // It may have finished in time after all, or know that it never will.
  const isFinal = said.kind === 'completed' || (said.kind === 'failed' && said.cause instanceof NonRetryableError);
  return isFinal ? said : { kind: 'released' };
}

/** Ends an attempt whose time is up although its handler goes on. */
function overtime(signal: AbortSignal, ended: Promise<void>): Promise<Verdict> {
  return new Promise((resolve) => {
    const onAbort = (): void => {
      const reason: unknown = signal.reason;
      if (!(reason instanceof JobTimeout)) return;
      const timer = setTimeout(() => resolve(retryableFailure(reason.message, reason)), GRACE_MS);
      void ended.then(() => clearTimeout(timer));
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
