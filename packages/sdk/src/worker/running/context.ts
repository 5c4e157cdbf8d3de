import { isObject, type JsonObject } from '../../json/object.js';
import type { Logger } from '../../shared/logger.js';
import type { AnyTask, Args, InOf, JobContext, JobHandle, OutOf, RunningJob } from '../../task/types.js';
import { effectKey, once } from '../../task/once.js';
import type { EnqueueOptions } from '../../task/policy.js';
import { CallOrdinals } from '../../durable/call-ordinals.js';
import { DurableRun, type CheckpointStore } from '../../durable/durable-run.js';
import { monotonicMs } from '../clock.js';
import type { HeldJob } from '../leases/held-jobs.js';
import type { ChildClient } from '../options.js';

/** What the service takes as progress. */
const PROGRESS_MAX_BYTES = 16_384;

/** What contexts need of the worker. */
export interface ContextOwner {
  readonly logger: Logger;
  readonly client: ChildClient | undefined;
  /** Where durable jobs keep what they have done. */
  checkpoints(held: HeldJob): CheckpointStore;
  isLeased(held: HeldJob): boolean;
  lastProgress(held: HeldJob): JsonObject | null;
  sendProgress(held: HeldJob, value: JsonObject): void;
}

/** What a handler gets beside its input. Nearly everything in it is made only for the handlers that ask for it. */
export class Context implements JobContext {
  readonly #held: HeldJob;
  readonly #owner: ContextOwner;
  #log: Logger | undefined;
  #durable: DurableRun | undefined;
  #enqueue: JobContext['enqueue'] | undefined;
  readonly lastProgress: JsonObject | null;

  constructor(held: HeldJob, owner: ContextOwner) {
    this.#held = held;
    this.#owner = owner;
    this.lastProgress = owner.lastProgress(held);
  }

  get job(): RunningJob {
    return this.#held.job;
  }

  get signal(): AbortSignal {
    return this.#held.stop.signal;
  }

  get log(): Logger {
    return (this.#log ??= loggerFor(this.#owner.logger, this.job));
  }

  get leased(): () => boolean {
    return () => this.#owner.isLeased(this.#held);
  }

  get progress(): (value: JsonObject) => void {
    return (value) => {
      const problem = problemWith(value);
      if (problem === null) this.#owner.sendProgress(this.#held, value);
      else this.log.warn(`progress ${problem}; it is not sent`);
    };
  }

  get key(): JobContext['key'] {
    return (name) => effectKey(this.job, name);
  }

  get once(): JobContext['once'] {
    return (tx, name, effect) => once(tx, effectKey(this.job, name), effect);
  }

  /** Made when the handler first asks for what makes it durable; undefined if it never does. */
  get durable(): DurableRun | undefined {
    return this.#durable;
  }

  get step(): JobContext['step'] {
    return this.#makeDurable().step;
  }

  get sleep(): JobContext['sleep'] {
    return this.#makeDurable().sleep;
  }

  get waitFor(): JobContext['waitFor'] {
    return this.#makeDurable().waitFor;
  }

  get call(): JobContext['call'] {
    return this.#makeDurable().call;
  }

  get callAll(): JobContext['callAll'] {
    return this.#makeDurable().callAll;
  }

  #makeDurable(): DurableRun {
    const held = this.#held;
    return (this.#durable ??= new DurableRun({
      store: this.#owner.checkpoints(held),
      startedAt: held.serverStartedAt,
      leftMs: () => held.startedAt + held.timeoutMs - monotonicMs(),
      signal: () => held.stop.signal,
    }));
  }

  get enqueue(): JobContext['enqueue'] {
    return (this.#enqueue ??= childrenOf(this.job, this.#owner.client));
  }
}

function problemWith(value: unknown): string | null {
  if (!isObject(value)) return 'is not an object';
  try {
    const bytes = Buffer.byteLength(JSON.stringify(value));
    return bytes > PROGRESS_MAX_BYTES ? `has ${bytes} bytes; ${PROGRESS_MAX_BYTES} are the most` : null;
  } catch (error) {
    return `is not JSON (${String(error)})`;
  }
}

/** Every line says which job it is about. */
function loggerFor(logger: Logger, { id, task, attempt }: RunningJob): Logger {
  const fields = { job: id, task, attempt };
  const on =
    (level: keyof Logger) =>
    (message: string, more: JsonObject = {}): void =>
      logger[level](message, { ...fields, ...more });
  return { debug: on('debug'), info: on('info'), warn: on('warn'), error: on('error') };
}

/**
 * Creates jobs whose keys are made of this job's id and the ordinal of the call within its step, or outside of steps:
 * another attempt that makes the same calls in the same order creates none of them twice.
 */
function childrenOf(job: RunningJob, client: ChildClient | undefined): JobContext['enqueue'] {
  const ordinals = new CallOrdinals();
  let allowed: Promise<void> | undefined;
  const allow = async (own: ChildClient): Promise<void> => {
    const { tenant } = await own.whoami();
    if (tenant === job.tenant) return;
    throw new Error(`the job belongs to the tenant ${job.tenant}, but the worker's client creates jobs for another`);
  };
  return async <T extends AnyTask>(task: T, ...args: Args<InOf<T>>): Promise<JobHandle<OutOf<T>>> => {
    if (client === undefined) {
      throw new Error('ctx.enqueue needs a client with the token of a tenant: new Worker({ client: new Millrace() })');
    }
    const key = `${job.id}:${ordinals.next()}`;
    await (allowed ??= allow(client));
    const [input, options] = args as [JsonObject?, EnqueueOptions?];
    return client.enqueue(task, ...([input ?? {}, { key, ...options }] as unknown as Args<InOf<T>>));
  };
}
