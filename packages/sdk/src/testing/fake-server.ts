import { Millrace } from '../client/millrace.js';
import { milliseconds, type Duration } from '../shared/duration.js';
import { thrownText } from '../rules/thrown.js';
import { NonRetryableError, RetryAfterError } from '../errors/handler-errors.js';
import { JobCancelled, LeaseLost } from '../errors/handler-errors.js';
import type { JsonObject } from '../json/object.js';
import { silentLogger, type Logger } from '../shared/logger.js';
import type { EnqueueOptions } from '../task/policy.js';
import { hasEnded } from '../records/jobs.js';
import { stepPayload } from '../workflow/references.js';
import type { Handler, JobContext, RunningJob } from '../task/types.js';
import { fireDue, firstDue } from './fake/crons.js';
import { fakeFetch } from './fake/fake-fetch.js';
import { claim, complete, expireJobs, expireLeases, fail, type Failure } from './fake/settle.js';
import { FakeStore, type StoredJob } from './fake/store.js';
import { CallOrdinals } from '../durable/call-ordinals.js';
import { DurableRun } from '../durable/durable-run.js';
import { keep } from './fake/checkpoints.js';
import { suspendJob } from './fake/durable.js';
import { keepLogs } from './fake/logs.js';
import { addChildren } from './fake/new-job.js';
import { endStepWaits } from './fake/step-waits.js';
import { testContext, throughJson } from './test-context.js';

/** A job as a test looks at it. */
export interface FakeJob {
  readonly id: string;
  readonly task: string;
  readonly queue: string;
  readonly payload: JsonObject;
  readonly status: string;
  readonly result: JsonObject | null;
  readonly errorMessage: string | null;
}

/** Longer than any handler under test should run by the fake clock. */
const LEASE_SECS = 3_600;

/**
 * The service in memory, behind `fetch`, with a clock that tests move. Everything goes through JSON. Unknown fields are
 * refused, and so is whatever the service refuses by its default limits. Retry delays have no jitter, so tests know
 * when; bulk operations have ended when they are answered. The few routes that it does not know, such as series, it
 * refuses with a message that says so. The same suites of tests hold it and the real service to the same behaviour.
 *
 * @example
 * const fake = new FakeServer();
 * const millrace = new Millrace(fake.options);
 * await millrace.enqueue(resize, { image: 1 }, { delay: '1h' });
 * await fake.advance('1h');
 * await fake.drain([resize.handle(() => ({ bytes: 1 }))]);
 */
export class FakeServer {
  /** For `new Millrace()` and `new Worker()`. */
  readonly options: {
    readonly url: string;
    readonly token: string;
    readonly fetch: typeof globalThis.fetch;
    readonly clock: () => number;
  };
  readonly #store: FakeStore;

  /** The clock starts at the given instant, by default now, and does not move until `advance`. */
  constructor({ now = new Date() }: { now?: Date } = {}) {
    this.#store = new FakeStore(now);
    this.options = {
      url: 'http://millrace.test',
      token: 'fake',
      fetch: fakeFetch(this.#store),
      clock: () => this.#store.clock.now(),
    };
  }

  /** What the clock says. */
  get now(): Date {
    return new Date(this.#store.clock.now());
  }

  /** Every job, the oldest first. */
  get jobs(): readonly FakeJob[] {
    return [...this.#store.jobs.values()].map(({ record }) => ({
      id: record.id,
      task: record.task_name,
      queue: record.queue_name,
      payload: record.payload,
      status: record.status,
      result: record.result,
      errorMessage: record.error_message,
    }));
  }

  /** Moves the clock. Schedules fire at their instants on the way; leases expire; waiting calls are answered. */
  async advance(by: Duration): Promise<void> {
    const { clock } = this.#store;
    const end = clock.now() + milliseconds(by);
    for (let due = firstDue(this.#store); due !== null && due <= end; due = firstDue(this.#store)) {
      clock.moveTo(due);
      fireDue(this.#store);
    }
    clock.moveTo(end);
    expireLeases(this.#store);
    expireJobs(this.#store);
    endStepWaits(this.#store);
    this.#store.changed();
    // Lets the calls that were waiting for this instant be answered before the test goes on.
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /**
   * Runs every job that is due and has a handler, one at a time, on whatever queue, until none is left: jobs that they
   * enqueue and steps that become ready too. Retries that are not due yet stay; advance the clock for them.
   */
  async drain(handlers: readonly Handler[]): Promise<void> {
    const byTask = new Map(handlers.map((handler) => [handler.task, handler]));
    const tasks = new Set(byTask.keys());
    for (;;) {
      endStepWaits(this.#store);
      const [job] = claim(this.#store, { tasks, most: 1, leaseSecs: LEASE_SECS, workerId: 'drain' });
      const handler = job === undefined ? undefined : byTask.get(job.record.task_name);
      if (job === undefined || handler === undefined) return;
      const { batch } = handler;
      if (batch === undefined) {
        await this.#run(job, handler);
        continue;
      }
      const rest = { tasks: new Set([handler.task]), most: batch.size - 1, leaseSecs: LEASE_SECS, workerId: 'drain' };
      const all = [job, ...claim(this.#store, rest)];
      batch.expect(all.length);
      await Promise.all(all.map((each) => this.#run(each, handler)));
    }
  }

  async #run(job: StoredJob, handler: Handler): Promise<void> {
    const token = job.leaseToken;
    const controller = new AbortController();
    const stop = this.#store.watch(() => {
      if (job.leaseToken === token) return;
      controller.abort(job.record.status === 'cancelled' ? new JobCancelled('the job was cancelled') : new LeaseLost());
    });
    const durable = this.#durable(job, controller.signal);
    const context = this.#context(job, controller.signal, durable);
    const said = await outcomeOf(handler, job, context);
    const ended = await durable.ended(said.thrown);
    stop();
    if (job.leaseToken !== token || hasEnded(job.record.status)) return;
    if (ended !== null && !(ended instanceof Error)) return suspendJob(this.#store, job, ended);
    if (ended === null && 'result' in said) return complete(this.#store, job, said.result);
    fail(this.#store, job, failureOf(ended ?? said.thrown));
  }

  /** Sleeps never wait in place here: they are over when the clock is moved. */
  #durable(job: StoredJob, signal: AbortSignal): DurableRun {
    return new DurableRun({
      store: {
        load: () =>
          Promise.resolve({
            values: new Map([...job.checkpoints].map(([name, { value }]) => [name, throughJson(value)])),
            deadlines: new Map([...job.waits].map(([name, { until }]) => [name, until])),
          }),
        store: (name, value) => Promise.resolve(throughJson(keep(this.#store, job, name, throughJson(value)).value)),
        create: (children) => Promise.resolve(addChildren(this.#store, job, throughJson(children))),
      },
      startedAt: job.record.started_at ?? job.record.created_at,
      leftMs: () => 0,
      signal: () => signal,
    });
  }

  #context(job: StoredJob, signal: AbortSignal, durable: DurableRun): JobContext {
    const { record } = job;
    const client = new Millrace({ ...this.options, logger: silentLogger });
    const ordinals = new CallOrdinals();
    const running: RunningJob = {
      id: record.id,
      task: record.task_name,
      queue: record.queue_name,
      tenant: record.tenant_id,
      attempt: record.delivery_count,
      retryCount: record.retry_count,
      metadata: record.metadata,
      workflow: record.workflow_id === null ? null : { id: record.workflow_id, step: record.workflow_step_id ?? '' },
      payloadText: JSON.stringify(record.payload),
    };
    const enqueue: JobContext['enqueue'] = (task, ...args) => {
      const [input = {}, options = {}] = args as [JsonObject?, EnqueueOptions?];
      const ordinal = ordinals.next();
      if (options.key !== undefined) return client.enqueue(task, ...args);
      return durable.enqueue({ task, input, options }, ordinal).then((id) => client.jobs.handle(task, id));
    };
    const context = testContext(running, { progress: [], logs: [] }, signal, enqueue, durable);
    const progress = (value: JsonObject): void => {
      if (job.record.status === 'running') this.#store.change(job, { progress: throughJson(value) });
    };
    const line =
      (level: keyof Logger) =>
      (message: string, fields?: JsonObject): void =>
        keepLogs(this.#store, job, [
          { at: this.#store.clock.text(), level, message, ...(fields && { fields: throughJson(fields) }) },
        ]);
    const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
    return { ...context, progress, log };
  }
}

/** What the handler says: a result, or what it threw. */
async function outcomeOf(
  handler: Handler,
  { record }: StoredJob,
  context: JobContext,
): Promise<{ result: JsonObject; thrown: null } | { thrown: unknown }> {
  try {
    const payload = throughJson(record.payload);
    const result = await handler.run(record.workflow_id === null ? payload : stepPayload(payload), context);
    return { result: throughJson(result), thrown: null };
  } catch (error) {
    return { thrown: error };
  }
}

function failureOf(error: unknown): Failure {
  return {
    error: thrownText(error),
    retryable: !(error instanceof NonRetryableError),
    retryAfterSecs: error instanceof RetryAfterError ? Math.ceil(error.afterMs / 1_000) : null,
    details: error instanceof Error ? { name: error.name, stack: error.stack ?? null } : null,
  };
}
