import { JobCancelled, JobTimeout, LeaseLost, NonRetryableError, ShuttingDown } from '../../errors/handler-errors.js';
import type { JsonObject } from '../../json/object.js';
import type { Handler } from '../../task/types.js';
import type { Context } from './context.js';
import type { DurableRun } from '../../durable/durable-run.js';
import type { HeldJob } from '../leases/held-jobs.js';
import { completion, failure, retryableFailure, type Outcome } from '../reports/outcome.js';

/** What is to be done with a job once its handler has ended. */
export type Verdict = Outcome | 'cancelled' | 'lost';

/** How long a handler whose time is up may take to notice, before its attempt is reported as failed without it. */
const GRACE_MS = 5_000;
/** How long after being told to stop a handler that goes on is mentioned. */
const IGNORED_MS = 10_000;

/** Who started an attempt. */
export interface AttemptOwner {
  /** Runs the handler within something of the program's own, such as a span. */
  readonly wrap: ((held: HeldJob, run: () => Promise<JsonObject>) => Promise<JsonObject>) | undefined;
  /** How the job ends; called once, at the latest some seconds after its time is up. */
  onVerdict(held: HeldJob, verdict: Verdict): void;
  /** The handler itself has ended: until then it takes a slot. */
  onEnd(held: HeldJob): void;
  /** It was told to stop long ago, and goes on. */
  onIgnored(held: HeldJob): void;
}

/** Runs a handler once. It calls back instead of returning promises, which are most of what a quick job costs. */
export class RunningAttempt {
  readonly #held: HeldJob;
  readonly #owner: AttemptOwner;
  readonly #limit: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;
  #ignored: NodeJS.Timeout | undefined;
  #judged = false;

  constructor(held: HeldJob, handler: Handler, context: Context, owner: AttemptOwner) {
    const { stop, timeoutMs, payload } = held;
    this.#held = held;
    this.#owner = owner;
    this.#limit = setTimeout(() => stop.stop(new JobTimeout(`timed out after ${timeoutMs / 1_000} s`)), timeoutMs);
    stop.onStop(() => this.#told());
    const run = async (): Promise<JsonObject> => handler.run(payload, context);
    const { wrap } = owner;
    // A hook may throw before it returns a promise.
    const running = wrap === undefined ? run() : (async () => wrap(held, run))();
    running.then(
      (result) => {
        if (context.durable === undefined) this.#end(completion(result));
        else void this.#endDurable(context.durable, completion(result), null);
      },
      (error: unknown) => {
        if (context.durable === undefined) this.#end(failure(error));
        else void this.#endDurable(context.durable, failure(error), error);
      },
    );
  }

  /** Steps that still run are stored before the job is let go. */
  async #endDurable(durable: DurableRun, said: Outcome, thrown: unknown): Promise<void> {
    const ended = await durable.ended(thrown);
    if (ended === null) this.#end(said);
    else this.#end(ended instanceof Error ? failure(ended) : { kind: 'suspended', suspension: ended });
  }

  #told(): void {
    const { reason } = this.#held.stop;
    if (reason instanceof JobTimeout) this.#grace = setTimeout(() => this.#judge(timedOut(reason)), GRACE_MS);
    this.#ignored = setTimeout(() => this.#owner.onIgnored(this.#held), IGNORED_MS);
    this.#ignored.unref();
  }

  #end(said: Outcome): void {
    clearTimeout(this.#limit);
    clearTimeout(this.#grace);
    clearTimeout(this.#ignored);
    this.#judge(verdictOf(this.#held.stop.reason, said));
    this.#owner.onEnd(this.#held);
  }

  #judge(verdict: Verdict): void {
    if (this.#judged) return;
    this.#judged = true;
    this.#owner.onVerdict(this.#held, verdict);
  }
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
  const isFinal =
    said.kind === 'completed' ||
    said.kind === 'suspended' ||
    (said.kind === 'failed' && said.cause instanceof NonRetryableError);
  return isFinal ? said : { kind: 'released' };
}
