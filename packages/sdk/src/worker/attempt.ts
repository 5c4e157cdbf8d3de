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
  /** Runs the handler within something of the program's own, such as a span. */
  readonly wrap: ((run: () => Promise<JsonObject>) => Promise<JsonObject>) | undefined;
  /** How the job ends; called once, at the latest some seconds after its time is up. */
  readonly onVerdict: (verdict: Verdict) => void;
  /** The handler itself has ended: until then it takes a slot. */
  readonly onEnd: () => void;
}

/** Runs a handler once. It calls back instead of returning promises, which are most of what a quick job costs. */
export function startAttempt({ held, handler, context, wrap, onVerdict, onEnd }: AttemptOptions): void {
  const { job, stop, timeoutMs, payload } = held;
  if (handler === undefined) {
    onVerdict(retryableFailure(`this worker has no handler for the task ${job.task}`));
    return onEnd();
  }
  const limit = setTimeout(() => stop.stop(new JobTimeout(`timed out after ${timeoutMs / 1_000} s`)), timeoutMs);
  let grace: NodeJS.Timeout | undefined;
  let judged = false;
  const judge = (verdict: Verdict): void => {
    if (judged) return;
    judged = true;
    onVerdict(verdict);
  };
  stop.onStop(() => {
    const { reason } = stop;
    if (reason instanceof JobTimeout) grace = setTimeout(() => judge(timedOut(reason)), GRACE_MS);
  });
  const end = (said: Outcome): void => {
    clearTimeout(limit);
    clearTimeout(grace);
    judge(verdictOf(stop.reason, said));
    onEnd();
  };
  const run = async (): Promise<JsonObject> => handler.run(payload, context);
  // A hook may throw before it returns a promise.
  const running = wrap === undefined ? run() : (async () => wrap(run))();
  running.then(
    (result) => end(completion(result)),
    (error: unknown) => end(failure(error)),
  );
}

const timedOut = (reason: JobTimeout): Verdict => retryableFailure(reason.message, reason);

/** What the handler said counts only if it was not told to stop before, or was told to for the worker's own sake. */
function verdictOf(reason: Error | undefined, said: Outcome): Verdict {
  if (reason === undefined) return said;
  if (reason instanceof JobCancelled) return 'cancelled';
  if (reason instanceof LeaseLost) return 'lost';
  if (reason instanceof JobTimeout) return timedOut(reason);
  if (!(reason instanceof ShuttingDown)) return said;
  // It may have finished in time after all, or know that it never will.
  const isFinal = said.kind === 'completed' || (said.kind === 'failed' && said.cause instanceof NonRetryableError);
  return isFinal ? said : { kind: 'released' };
}
