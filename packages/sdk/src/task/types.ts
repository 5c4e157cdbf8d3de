/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type --
   `any` is how TypeScript writes "a task of whatever types", and `{} extends In` asks whether every field is optional */
import type { Duration } from '../shared/duration.js';
import type { JsonObject } from '../json/object.js';
import type { Logger } from '../shared/logger.js';
import type { Transaction } from '../shared/transaction.js';
import type { EnqueueOptions, Policy } from './policy.js';
import type { CallOptions, DurableContext } from './durable.js';
import type { Job } from '../records/jobs.js';

/** The definition of a task: shared by those who enqueue it and the worker that runs it. */
export interface Task<Name extends string, In, Parsed, Out> {
  readonly name: Name;
  /** Where its jobs go unless a call says otherwise. */
  readonly queue: string;
  /** What its jobs are created with unless a call says otherwise. */
  readonly policy: Readonly<Policy>;
  /**
   * Checks an input, as it is checked before it is sent.
   *
   * @throws InvalidRequestError with the fields at fault
   */
  check(input: In): Promise<void>;
  /** One call of the task, for `enqueueMany`. */
  with(...args: Args<In>): Call<Out>;
  /**
   * The code that runs it, for a worker.
   *
   * @example resize.handle(async ({ image }, { signal }) => ({ bytes: await shrink(image, signal) }))
   */
  handle(run: (input: Parsed, ctx: JobContext) => Out | Promise<Out>): Handler<Name>;
  /**
   * The code that runs many of its jobs in one call, for effects that cost less together. Each job keeps its own lease,
   * timeout and outcome: return one result per input, in their order, or an Error for one that failed.
   *
   * @example
   * record.handleMany(async (inputs) => { await db.insert(inputs); return inputs.map(() => ({})); }, { size: 500 })
   */
  handleMany(run: RunMany<Parsed, Out>, options?: BatchOptions): Handler<Name>;
}

/** When a batch is full, or has waited long enough. */
export interface BatchOptions {
  /** How many jobs one call takes at most: 1 to 1,000, default 100. Give the queue as many slots. */
  size?: number;
  /** How long the first job of a batch waits for others; default 100 ms. */
  linger?: Duration;
}

/** What a batch handler gets beside the inputs. */
export interface BatchContext {
  /** What each job would have got by itself, in the order of the inputs. */
  readonly jobs: readonly JobContext[];
  /** Aborts when nothing of the batch is wanted any more; each job has a signal of its own. */
  readonly signal: AbortSignal;
}

/** The code of a batch handler. */
export type RunMany<In, Out> = (
  inputs: readonly In[],
  ctx: BatchContext,
) => readonly (Out | Error)[] | Promise<readonly (Out | Error)[]>;

/** Any task, whatever goes in and comes out. */
export type AnyTask = Task<string, any, any, any>;
/** What is passed to a task when it is enqueued. */
export type InOf<T> = T extends Task<string, infer In, any, any> ? In : never;
/** What the handler of a task returns. */
export type OutOf<T> = T extends Task<string, any, any, infer Out> ? Out : never;
/** The arguments after the task: its input, which may be left out if every field may, and options. */
export type Args<In> = {} extends In ? [input?: In, options?: EnqueueOptions] : [input: In, options?: EnqueueOptions];

/** A task with its input and options, ready to be sent. */
export interface Call<Out> {
  readonly task: AnyTask;
  readonly input: JsonObject;
  readonly options: EnqueueOptions;
  /** Never there: carries the type of the result. */
  readonly out?: Out;
}

/** A task with the code that runs it. */
export interface Handler<Name extends string = string> {
  readonly task: Name;
  /** The queue of the task. */
  readonly queue: string;
  /**
   * Runs it as every worker does: checks the payload, runs the code, checks the result. `payload` is what the handler
   * is to see: the references of a workflow step are resolved before (`stepPayload`).
   *
   * @throws MismatchError if the payload or the result does not match its schema, or the result is not an object
   */
  run(payload: JsonObject, ctx: JobContext): Promise<JsonObject>;
  /** Of a batch handler: how many jobs a call takes, and word from the worker that no more than these will come. */
  readonly batch?: { readonly size: number; readonly expect: (jobs: number) => void };
}

/** What a handler is told about the job it runs. */
export interface RunningJob {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly tenant: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  readonly retryCount: number;
  readonly metadata: JsonObject;
  readonly workflow: { readonly id: string; readonly step: string } | null;
  /** The payload as it was sent, for numbers that JavaScript cannot hold. */
  readonly payloadText: string;
}

/** Input and options of a call; a task without input needs neither. */
export type CallArgs<In> = {} extends In ? [input?: In, options?: CallOptions] : [input: In, options?: CallOptions];

/** What calls return, in their order. */
export type CallResults<C extends readonly Call<unknown>[]> = {
  -readonly [K in keyof C]: C[K] extends Call<infer Out> ? Out : never;
};

/** What a handler gets beside its input. */
export interface JobContext extends DurableContext {
  readonly job: RunningJob;
  /** Whether the lease is still held, by this process's own clock. Check it before what must not happen twice. */
  readonly leased: () => boolean;
  /** Aborts with JobCancelled, LeaseLost, JobTimeout or ShuttingDown as its reason. */
  readonly signal: AbortSignal;
  /** Kept with the attempt, beside going to the log of the worker: `millrace.jobs.logs` shows it. */
  readonly log: Logger;
  /** Sent with the next heartbeat, at most once per second. */
  readonly progress: (value: JsonObject) => void;
  /** What the last attempt said, if this process knows. */
  readonly lastProgress: JsonObject | null;
  /**
   * Creates a job once, however often this job is tried: calls are counted within their step, or outside of steps. It
   * is a child of this job, which does not wait for it.
   */
  readonly enqueue: <T extends AnyTask>(task: T, ...args: Args<InOf<T>>) => Promise<JobHandle<OutOf<T>>>;
  /**
   * Runs another task as a job of its own, once per name, and waits for its result without holding a worker.
   *
   * @throws ChildFailedError if it fails, is cancelled, or does not end in time; not retried
   * @example const sent = await ctx.call('mail', sendMail, { order });
   */
  readonly call: <T extends AnyTask>(name: string, task: T, ...args: CallArgs<InOf<T>>) => Promise<OutOf<T>>;
  /**
   * The same for up to a thousand jobs at once; the results have the order and the types of the calls.
   *
   * @throws ChildFailedError that lists all that did not complete
   * @example const sizes = await ctx.callAll('resize', images.map((image) => resize.with({ image })));
   */
  readonly callAll: <const C extends readonly Call<unknown>[]>(
    name: string,
    calls: C,
    options?: CallOptions,
  ) => Promise<CallResults<C>>;
  /** A key for an effect of this job: the same in every attempt, and in replays of it. */
  readonly key: (name: string) => string;
  /**
   * Lets an effect in the application's own database happen once, although a job may be delivered more than once: runs
   * `effect` unless a transaction that ran it before, for this job and name, has committed. Needs the outbox in that
   * database (docs/outbox.md), and the effect must use the same transaction.
   *
   * @example await ctx.once(tx, 'book', () => tx.query('UPDATE accounts SET …'))
   */
  readonly once: <T>(tx: Transaction, name: string, effect: () => T | Promise<T>) => Promise<T | undefined>;
}

/** The part of a context that calls other tasks. */
export type CallContext = Pick<JobContext, 'call' | 'callAll'>;

/** A job that was created, and the type of what it will return. */
export interface JobHandle<Out> {
  readonly id: string;
  get(options?: { signal?: AbortSignal }): Promise<Job>;
  /**
   * Waits for the job to end, for five minutes unless told otherwise.
   *
   * @throws JobFailedError, JobCancelledError or WaitTimeoutError
   */
  result(options?: { timeout?: Duration; signal?: AbortSignal }): Promise<Out>;
  /** Yields the job as it is, then after every change until it ends. Reconnects by itself. */
  watch(options?: { signal?: AbortSignal }): AsyncIterable<Job>;
  cancel(options?: { signal?: AbortSignal }): Promise<void>;
}
