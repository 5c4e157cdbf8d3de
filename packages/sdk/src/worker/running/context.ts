import { isObject, type JsonObject } from '../../json/object.js';
import type { Logger } from '../../shared/logger.js';
import type { JobContext, RunningJob } from '../../task/types.js';
import { effectKey, once } from '../../task/once.js';
import { DurableRun, type CheckpointStore } from '../../durable/durable-run.js';
import { monotonicMs } from '../clock.js';
import type { HeldJob } from '../leases/held-jobs.js';
import { enqueuedChildren, type EnqueueOwner } from './enqueued-children.js';

/** What the service takes as progress. */
const PROGRESS_MAX_BYTES = 16_384;

/** What contexts need of the worker. */
export interface ContextOwner extends EnqueueOwner {
  readonly logger: Logger;
  /** Keeps a line with the attempt; undefined if lines stay here. */
  readonly keepLine: ((held: HeldJob, level: keyof Logger, message: string, fields?: JsonObject) => void) | undefined;
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
    return (this.#log ??= loggerFor(this.#held, this.#owner));
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
    return (this.#enqueue ??= enqueuedChildren(this.job, () => this.#makeDurable(), this.#owner));
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

/** In the worker's own log every line says which job it is about; what is kept is with the job anyway. */
function loggerFor(held: HeldJob, { logger, keepLine }: ContextOwner): Logger {
  const { id, task, attempt } = held.job;
  const about = { job: id, task, attempt };
  const on =
    (level: keyof Logger) =>
    (message: string, fields?: JsonObject): void => {
      logger[level](message, { ...about, ...fields });
      keepLine?.(held, level, message, fields);
    };
  return { debug: on('debug'), info: on('info'), warn: on('warn'), error: on('error') };
}
