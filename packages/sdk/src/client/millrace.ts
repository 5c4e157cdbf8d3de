/* eslint-disable @typescript-eslint/no-explicit-any -- a call, handle or task of whatever types */
import type { Duration } from '../shared/duration.js';
import type { JsonObject } from '../json/object.js';
import type { EnqueueOptions } from '../task/policy.js';
import type { AnyTask, Args, Call, InOf, JobHandle, OutOf } from '../task/types.js';
import { whoAmIOf, type WhoAmI } from '../records/who-am-i.js';
import type * as Wire from '../wire/index.js';
import type { AnyWorkflow, WorkflowHandle, WorkflowIn, WorkflowOut } from '../workflow/types.js';
import { DeadLetters } from './dead-letters.js';
import { enqueue, enqueueMany } from './enqueue.js';
import { ServerFeatures } from './server-features.js';
import { Jobs } from './jobs.js';
import { Operations } from './operations.js';
import { transportOf, type ClientOptions } from './options.js';
import { Queues } from './queues.js';
import { Raw } from './raw.js';
import { Schedules } from './schedules.js';
import { read, type Session } from './session.js';
import { monotonic } from './wait.js';
import { Signals } from './signals.js';
import { waitAll } from './wait-all.js';
import { startWorkflow, Workflows, type StartOptions } from './workflows.js';

export type HandlesOf<C extends readonly Call<any>[]> = {
  -readonly [K in keyof C]: C[K] extends Call<infer Out> ? JobHandle<Out> : never;
};
export type ResultsOf<H extends readonly JobHandle<any>[]> = {
  -readonly [K in keyof H]: H[K] extends JobHandle<infer Out> ? Out : never;
};

/**
 * A client of the service, for one tenant. Holds no connection and needs no closing.
 *
 * @example
 * const millrace = new Millrace(); // MILLRACE_URL and MILLRACE_TOKEN, or a local server with --dev
 * const job = await millrace.enqueue(sendWelcome, { userId: 42 });
 * const { messageId } = await job.result({ timeout: '30s' });
 */
export class Millrace {
  readonly jobs: Jobs;
  readonly workflows: Workflows;
  readonly schedules: Schedules;
  readonly deadLetters: DeadLetters;
  readonly operations: Operations;
  readonly queues: Queues;
  readonly signals: Signals;
  readonly raw: Raw;
  readonly #session: Session;

  constructor(options: ClientOptions = {}) {
    const transport = transportOf(options);
    const features = new ServerFeatures(transport);
    const session: Session = { transport, features, hooks: options.hooks ?? {}, clock: options.clock ?? monotonic };
    this.#session = session;
    this.jobs = new Jobs(session);
    this.workflows = new Workflows(session);
    this.schedules = new Schedules(session);
    this.deadLetters = new DeadLetters(session);
    this.operations = new Operations(session);
    this.queues = new Queues(session);
    this.signals = new Signals(session);
    this.raw = new Raw(session);
  }

  /**
   * Creates a job. Once it has resolved, the job is stored and will run.
   *
   * @example await millrace.enqueue(sendWelcome, { userId: 42 }, { delay: '10m', key: 'welcome-42' });
   * @throws InvalidRequestError if the input does not match the task's schema; nothing is sent then
   */
  async enqueue<T extends AnyTask>(task: T, ...args: Args<InOf<T>>): Promise<JobHandle<OutOf<T>>> {
    const [input, options] = args as [JsonObject?, EnqueueOptions?];
    return (await enqueue(this.#session, task, input ?? {}, options ?? {})) as JobHandle<OutOf<T>>;
  }

  /**
   * Creates up to a thousand jobs, all of them or none. The handles have the order and the types of the calls.
   *
   * @example const [a, b] = await millrace.enqueueMany([sendWelcome.with({ userId: 1 }), resize.with({ image: 7 })]);
   */
  async enqueueMany<const C extends readonly Call<any>[]>(
    calls: C,
    options: { key?: string; signal?: AbortSignal } = {},
  ): Promise<HandlesOf<C>> {
    return (await enqueueMany(this.#session, calls, options)) as HandlesOf<C>;
  }

  /** Waits for many jobs with few calls; the results have the order of the handles. Rejects if one of them fails. */
  async waitAll<const H extends readonly JobHandle<any>[]>(
    handles: H,
    options: { timeout?: Duration; signal?: AbortSignal } = {},
  ): Promise<ResultsOf<H>> {
    return (await waitAll(this.#session, handles, options)) as ResultsOf<H>;
  }

  /**
   * Starts a workflow.
   *
   * @example const { ship } = await (await millrace.start(order, { sku: 'a-1' }, { key: 'order-4711' })).result();
   */
  async start<W extends AnyWorkflow>(
    workflow: W,
    input: WorkflowIn<W>,
    options: StartOptions = {},
  ): Promise<WorkflowHandle<WorkflowOut<W>>> {
    return (await startWorkflow(this.#session, workflow, input, options)) as WorkflowHandle<WorkflowOut<W>>;
  }

  /** Who this client's token is to the server, and what the server can do. */
  async whoami({ signal }: { signal?: AbortSignal } = {}): Promise<WhoAmI> {
    return whoAmIOf(await read<Wire.WhoAmI>(this.#session, '/whoami', {}, signal));
  }

  /** The names of the tasks that the server itself has handlers for. */
  async serverTasks({ signal }: { signal?: AbortSignal } = {}): Promise<string[]> {
    return (await read<Wire.Tasks>(this.#session, '/tasks', {}, signal)).tasks;
  }
}
