import { NonRetryableError } from '../errors/handler-errors.js';
import { pause } from '../http/deadline.js';
import { milliseconds, wholeSeconds, type Duration } from '../shared/duration.js';
import { pathOf } from '../task/schema.js';
import type { JsonObject } from '../json/object.js';
import type { CallOptions, DurableContext, StepOptions, WaitForOptions } from '../task/durable.js';
import type { Call, CallContext, CallResults, OutOf } from '../task/types.js';
import type { ChildJob } from '../wire/index.js';
import { withinStep } from './call-ordinals.js';
import { childJob, resultsOf } from './child-calls.js';
import { isSuspended, Suspended, type Suspension } from './suspension.js';

type NamedCall = readonly [name: string, call: Call<unknown>];

/** What a job has stored before, and the deadlines of waits that nothing has ended yet. */
export interface Stored {
  readonly values: ReadonlyMap<string, unknown>;
  readonly deadlines: ReadonlyMap<string, string>;
}

/** Where a durable job keeps what it has done. */
export interface CheckpointStore {
  load(): Promise<Stored>;
  /** Resolves to what stands under the name: this value, or one that was there before. */
  store(name: string, value: unknown): Promise<unknown>;
  /** Creates jobs in the name of this one, once per name. Resolves to their ids. */
  create(children: readonly ChildJob[]): Promise<readonly string[]>;
}

export interface DurableRunOptions {
  readonly store: CheckpointStore;
  /** When the attempt began, by the server's clock. */
  readonly startedAt: string;
  /** How much longer the attempt may take. */
  readonly leftMs: () => number;
  readonly signal: () => AbortSignal;
}

const CALL_TIMEOUT = '30d';
/** How many children one wait may be for. */
const MOST_CALLS = 1_000;

/** Shorter sleeps wait in place. */
const IN_PLACE_MS = 30_000;

/**
 * One attempt of a durable job: what it has done before is not done again, by name and never by position, so code may
 * change while jobs wait.
 */
export class DurableRun implements DurableContext, CallContext {
  readonly #options: DurableRunOptions;
  #stored: Promise<Stored> | undefined;
  /** Where each name was used first. */
  readonly #places = new Map<string, string>();
  /** The same for the names of children. */
  readonly #childPlaces = new Map<string, string>();
  readonly #running = new Set<Promise<unknown>>();
  /** The name of the wait that has begun. */
  #open: string | null = null;
  #suspension: Suspension | null = null;
  #mistake: NonRetryableError | null = null;

  constructor(options: DurableRunOptions) {
    this.#options = options;
  }

  /**
   * What the attempt ends with, once nothing runs any more: what steps return is stored first. A suspension; an error
   * instead of what the handler said; or null: as it said. `thrown`: what it threw, if anything.
   */
  async ended(thrown: unknown): Promise<Suspension | Error | null> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
    // Of a second wait beside the first nobody may have noticed: `Promise.all` tells of the first alone.
    if (this.#mistake !== null || this.#suspension === null) return this.#mistake;
    return isSuspended(thrown) ? this.#suspension : swallowed(this.#suspension, thrown);
  }

  readonly step = async <T>(name: string, run: () => T | Promise<T>, options: StepOptions = {}): Promise<T> => {
    this.#use(name);
    const { values } = await this.#load();
    if (values.has(name)) return values.get(name) as T;
    return (await this.#track(this.#runStep(name, run, options))) as T;
  };

  readonly sleep = async (name: string, time: Duration | Date): Promise<void> => {
    this.#use(name);
    const { values, deadlines } = await this.#load();
    if (values.has(name)) return;
    const ms = time instanceof Date ? time.getTime() - Date.now() : milliseconds(time);
    const known = deadlines.get(name);
    if (known === undefined && ms < IN_PLACE_MS && ms < this.#options.leftMs()) await this.#sleepHere(ms);
    else if (known === undefined || !this.#isOver(known)) this.#suspend({ checkpoint: name, ...whenOf(time) });
    await this.#options.store.store(name, null);
  };

  readonly waitFor = async <T = unknown>(name: string, options: WaitForOptions<T>): Promise<T | null> => {
    this.#use(name);
    const { values, deadlines } = await this.#load();
    if (values.has(name)) return answerOf(name, values.get(name), options);
    const deadline = deadlines.get(name);
    if (deadline !== undefined && this.#isOver(deadline)) {
      const standing = await this.#options.store.store(name, { timed_out: true });
      return answerOf(name, standing, options);
    }
    const { signal = name, key, ask, timeout } = options;
    const wait = { signal: { name: signal, ...(key !== undefined && { key }) }, ...(ask !== undefined && { ask }) };
    return this.#suspend({ checkpoint: name, ...whenOf(timeout), wait });
  };

  readonly call: CallContext['call'] = async (name, task, ...args) => {
    const [input = {}, options = {}] = args as [JsonObject?, CallOptions?];
    const [result] = await this.#await(name, [[name, { task, input, options: {} }]], options);
    return result as OutOf<typeof task>;
  };

  readonly callAll: CallContext['callAll'] = async (name, calls, options = {}) => {
    const named = calls.map((call, n): NamedCall => [`${name} ${n + 1}`, call]);
    return (await this.#await(name, named, options)) as CallResults<typeof calls>;
  };

  /** Creates a job that nobody waits for, once per ordinal (CallOrdinals). Resolves to its id. */
  enqueue(call: Call<unknown>, ordinal: string): Promise<string> {
    return this.#track(this.#enqueue(call, `enqueue ${ordinal}`));
  }

  async #enqueue(call: Call<unknown>, name: string): Promise<string> {
    const [id] = await this.#options.store.create([{ ...(await childJob(name, call)), detached: true }]);
    return id!;
  }

  /** Creates children that are not there, and waits until all of them have ended. */
  async #await(name: string, calls: readonly NamedCall[], { timeout = CALL_TIMEOUT }: CallOptions): Promise<unknown[]> {
    this.#use(name);
    for (const [child] of calls) this.#use(child, this.#childPlaces);
    if (calls.length === 0) return [];
    if (calls.length > MOST_CALLS)
      throw new NonRetryableError(`${JSON.stringify(name)} has ${calls.length} calls; ${MOST_CALLS} are the most`);
    const { values, deadlines } = await this.#load();
    if (values.has(name)) return resultsOf(name, values.get(name));
    const deadline = deadlines.get(name);
    if (deadline !== undefined && this.#isOver(deadline))
      return resultsOf(name, await this.#options.store.store(name, { timed_out: true }));
    // Before the call to the server: a second wait beside this one must be seen before the handler has ended.
    this.#openWait(name);
    const jobs = await Promise.all(calls.map(([child, call]) => childJob(child, call)));
    if (deadline === undefined) await this.#options.store.create(jobs);
    const children = calls.map(([child]) => child);
    return this.#suspend({ checkpoint: name, ...whenOf(timeout), wait: { children } });
  }

  /** The attempt does not end before it. */
  async #track<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  /** What has returned is stored or lost with the lease, but not run again here. */
  async #runStep(name: string, run: () => unknown, options: StepOptions): Promise<unknown> {
    const value = await this.#tryStep(() => withinStep(name, run), options);
    return this.#options.store.store(name, value ?? null);
  }

  async #tryStep(run: () => unknown, { retries }: StepOptions): Promise<unknown> {
    for (let failures = 0; ; failures++) {
      try {
        return await run();
      } catch (error) {
        if (error instanceof NonRetryableError || error instanceof Suspended) throw error;
        if (failures >= (retries?.max ?? 0) || this.#options.signal().aborted) throw error;
        await pause(retries?.delay === undefined ? 0 : milliseconds(retries.delay), this.#options.signal());
      }
    }
  }

  async #sleepHere(ms: number): Promise<void> {
    const signal = this.#options.signal();
    await pause(Math.max(0, ms), signal);
    if (signal.aborted) throw signal.reason as Error;
  }

  #suspend(suspension: Suspension): never {
    this.#openWait(suspension.checkpoint);
    this.#suspension = suspension;
    throw new Suspended(suspension);
  }

  #openWait(name: string): void {
    const open = (this.#open ??= name);
    if (open === name) return;
    this.#mistake = new NonRetryableError(
      `the job waits for ${JSON.stringify(open)} already; a handler has one wait at a time, ` +
        `so await it before ${JSON.stringify(name)}, or wait for several jobs with ctx.callAll`,
    );
    throw this.#mistake;
  }

  #isOver(until: string): boolean {
    return Date.parse(this.#options.startedAt) >= Date.parse(until);
  }

  #load(): Promise<Stored> {
    return (this.#stored ??= this.#options.store.load());
  }

  /** A name used twice would get the value of the other. */
  #use(name: string, places = this.#places): void {
    const here = placeOf(new Error().stack);
    const before = places.get(name);
    if (before !== undefined)
      throw new NonRetryableError(
        `the name ${JSON.stringify(name)} is used twice in one attempt: first ${before}, then ${here}`,
      );
    places.set(name, here);
  }
}

const swallowed = ({ checkpoint }: Suspension, thrown: unknown): Error =>
  new Error(
    `the handler went on after it was to wait for ${JSON.stringify(checkpoint)}: ` +
      'it caught the error Suspended, which must pass',
    { cause: thrown },
  );

const whenOf = (time: Duration | Date): Pick<Suspension, 'until' | 'delay_secs'> =>
  time instanceof Date ? { until: time.toISOString() } : { delay_secs: wholeSeconds(time) };

/** The line of the program that called us, for a message. */
function placeOf(stack = ''): string {
  const line = stack
    .split('\n')
    .find((each) => /^\s+at /.test(each) && !/durable-run|child-calls|node:internal/.test(each));
  return line?.trim() ?? 'at an unknown place';
}

/** What a wait ended with: the value of a signal, or null after the deadline. */
async function answerOf<T>(name: string, stored: unknown, { schema }: WaitForOptions<T>): Promise<T | null> {
  const { value, timed_out: timedOut } = (stored ?? {}) as { value?: unknown; timed_out?: boolean };
  if (timedOut === true) return null;
  if (schema === undefined) return (value ?? null) as T;
  const checked = await schema['~standard'].validate(value);
  if (checked.issues === undefined) return checked.value;
  const issues = checked.issues.map((issue) => [pathOf(issue), issue.message].filter(Boolean).join(': ')).join('; ');
  throw new NonRetryableError(`the signal that ${JSON.stringify(name)} waited for is not valid: ${issues}`);
}
