import type { Logger } from 'pino';
import { NonRetryableError, type EnqueueOptions } from '@millrace/sdk/durable';
import { thrownText } from '@millrace/sdk/rules';
import type { JobRecord, Suspension } from '../domain/records.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import {
  PermanentError,
  RawJson,
  type Handler,
  type HandlerContext,
  type HandlerJob,
  type HandlerResult,
  type JsonObject,
} from '../handlers/types.js';
import type { KeptLogs } from './kept-logs.js';
import { durableKey, type DurableHandler, type DurableJobs } from './durable-jobs.js';

/** How one run of a handler ended. */
export type AttemptEnd =
  | { readonly kind: 'completed'; readonly result: string }
  | {
      readonly kind: 'failed';
      readonly error: string;
      readonly retryable: boolean;
      readonly how: 'failed' | 'timed_out';
      /** What was thrown. */
      readonly cause: unknown;
    }
  /** A durable job that waits: it goes back to the queue, and starts again when the wait is over. */
  | { readonly kind: 'suspended'; readonly suspension: Suspension }
  /** Not the job's fault: it goes back to the queue unchanged. */
  | { readonly kind: 'interrupted' }
  /** The lease is gone, so the outcome no longer matters. */
  | { readonly kind: 'lost' };

/**
 * One run of a handler, until it ends, times out or is stopped, whichever comes first. A handler that ignores its
 * signal keeps running, but nothing waits for it any more. `onEnd` is called once, possibly before `start` returns.
 */
export class Attempt {
  readonly startedAt = performance.now();
  #controller: AbortController | null = null;
  #stopReason: Error | null = null;
  #ended = false;

  constructor(
    readonly leased: HeldJob,
    private readonly onEnd: (attempt: Attempt, end: AttemptEnd) => void,
  ) {}

  /** A handler that returns no promise has ended when this returns: promises are most of the cost of a fast job. */
  start(handler: Handler, { keptLogs, maxPayloadBytes, durableJobs }: AttemptParts): void {
    const context = new AttemptContext(this, keptLogs, durableJobs);
    const complete = (value: HandlerResult): void => {
      if (context.durable === null) this.#complete(value, maxPayloadBytes);
      else void this.#endDurable(context.durable, durableJobs, null, () => this.#complete(value, maxPayloadBytes));
    };
    const fail = (error: unknown): void => {
      if (context.durable === null) this.#fail(error);
      else void this.#endDurable(context.durable, durableJobs, error, () => this.#fail(error));
    };
    try {
      const payload = this.leased.job.parsePayload() as JsonObject;
      const result = handler(payload, context);
      if (isPromise(result)) result.then(complete, fail);
      else complete(result);
    } catch (error) {
      fail(error);
    }
  }

  /** Steps that still run are stored first. */
  async #endDurable(
    { run }: DurableHandler,
    durableJobs: AttemptParts['durableJobs'],
    thrown: unknown,
    asSaid: () => void,
  ): Promise<void> {
    const ended = await run.ended(thrown);
    if (ended === null) return asSaid();
    if (ended instanceof Error) return this.#fail(ended);
    try {
      this.#finish({ kind: 'suspended', suspension: durableJobs.suspensionOf(ended) });
    } catch (error) {
      this.#fail(new NonRetryableError(`the job cannot wait: ${thrownText(error)}`, { cause: error }));
    }
  }

  /** Called regularly; ends the attempt once its time is up. */
  checkTimeout(now: number): void {
    const secs = this.leased.job.config.timeout_secs;
    if (now - this.startedAt < secs * 1000) return;
    const cause = new Error(`timed out after ${secs} s`);
    this.#stop(cause, { kind: 'failed', error: cause.message, retryable: true, how: 'timed_out', cause });
  }

  leftMs(): number {
    return this.startedAt + this.leased.job.config.timeout_secs * 1000 - performance.now();
  }

  lose(): void {
    this.#stop(new Error('the job was cancelled or its lease was lost'), { kind: 'lost' });
  }

  interrupt(): void {
    this.#stop(new Error('the server is shutting down'), { kind: 'interrupted' });
  }

  /** Created on first use: most handlers never look at it, and creating it costs more than running them. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#stopReason) this.#controller.abort(this.#stopReason);
    return this.#controller.signal;
  }

  #complete(result: HandlerResult, maxBytes: number): void {
    let text: string;
    try {
      text = resultText(result, maxBytes);
    } catch (error) {
      return this.#fail(error);
    }
    this.#finish({ kind: 'completed', result: text });
  }

  #fail(error: unknown): void {
    const retryable = !(error instanceof NonRetryableError);
    this.#finish({ kind: 'failed', error: thrownText(error), retryable, how: 'failed', cause: error });
  }

  #stop(reason: Error, end: AttemptEnd): void {
    // In this order, because a failure that the signal causes must not count as the handler's own.
    this.#finish(end);
    this.#stopReason = reason;
    this.#controller?.abort(reason);
  }

  #finish(end: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onEnd(this, end);
  }
}

/** What attempts need of the pool. */
export interface AttemptParts {
  readonly keptLogs: Pick<KeptLogs, 'loggerFor'>;
  /** A result that is larger than this fails the job permanently. */
  readonly maxPayloadBytes: number;
  readonly durableJobs: Pick<DurableJobs, 'begin' | 'suspensionOf'>;
}

class AttemptContext implements HandlerContext {
  #job: HandlerJob | null = null;
  #durable: DurableHandler | null = null;
  #log: Logger | null = null;

  constructor(
    private readonly attempt: Attempt,
    private readonly keptLogs: AttemptParts['keptLogs'],
    private readonly durableJobs: AttemptParts['durableJobs'],
  ) {}

  get log(): Logger {
    return (this.#log ??= this.keptLogs.loggerFor(this.attempt.leased));
  }

  /** Made when the handler first asks for what makes it durable; null if it never does. */
  get durable(): DurableHandler | null {
    return this.#durable;
  }

  get step(): HandlerContext['step'] {
    return this.#beDurable().run.step;
  }

  get sleep(): HandlerContext['sleep'] {
    return this.#beDurable().run.sleep;
  }

  get waitFor(): HandlerContext['waitFor'] {
    return this.#beDurable().run.waitFor;
  }

  get call(): HandlerContext['call'] {
    return this.#beDurable().run.call;
  }

  get callAll(): HandlerContext['callAll'] {
    return this.#beDurable().run.callAll;
  }

  get key(): HandlerContext['key'] {
    return (name) => durableKey(this.attempt.leased, name);
  }

  get enqueue(): HandlerContext['enqueue'] {
    return (task, ...args) => {
      const [input = {}, options = {}] = args as [JsonObject?, EnqueueOptions?];
      return this.#beDurable().enqueue({ task, input, options });
    };
  }

  #beDurable(): DurableHandler {
    return (this.#durable ??= this.durableJobs.begin(this.attempt));
  }

  get job(): HandlerJob {
    return (this.#job ??= new JobOfAttempt(this.attempt.leased.job));
  }

  get signal(): AbortSignal {
    return this.attempt.signal;
  }
}

/** Accepts any thenable, not only native promises: a handler may use a library with its own promises. */
const isPromise = (result: HandlerResult | Promise<HandlerResult>): result is Promise<HandlerResult> =>
  typeof (result as { then?: unknown } | undefined)?.then === 'function';

/** Has own properties, so that a handler can copy or log it. The payload, which can be long, is a getter. */
class JobOfAttempt implements HandlerJob {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly tenant: string;
  readonly attempt: number;
  readonly retryCount: number;
  readonly workflowId: string | null;
  readonly workflowStep: string | null;
  readonly #job: JobRecord;

  constructor(job: JobRecord) {
    this.id = job.id;
    this.task = job.task_name;
    this.queue = job.queue_name;
    this.tenant = job.tenant_id;
    this.attempt = job.delivery_count;
    this.retryCount = job.retry_count;
    this.workflowId = job.workflow_id;
    this.workflowStep = job.workflow_step_id;
    this.#job = job;
  }

  get payloadText(): string {
    return this.#job.payload;
  }
}

function resultText(result: HandlerResult, maxBytes: number): string {
  const text = result instanceof RawJson ? result.text : objectText(result);
  // A UTF-16 unit takes at most three bytes of UTF-8, so most texts need not be measured.
  if (text.length * 3 > maxBytes && Buffer.byteLength(text) > maxBytes)
    throw new PermanentError(`the result is larger than ${maxBytes} bytes of JSON (--max-payload-bytes)`);
  return text;
}

function objectText(result: Exclude<HandlerResult, RawJson>): string {
  if (result === undefined || result === null) return '{}';
  const text = JSON.stringify(result) as string | undefined;
  // A map or a set is an object of which JSON has nothing to say.
  const isEmptied = result instanceof Map || result instanceof Set;
  if (text?.[0] !== '{' || isEmptied) throw new TypeError('a handler must return an object or nothing');
  return text;
}
