import type { Duration } from '../shared/duration.js';
import type { StandardSchema } from './schema.js';
import type { Ask } from '../wire/index.js';

/** Options of a step. */
export interface StepOptions {
  /** Tries again within the attempt, before the attempt fails; none unless said otherwise. */
  readonly retries?: { readonly max: number; readonly delay?: Duration };
}

/** Options of a wait for a signal. */
export interface WaitForOptions<T = unknown> {
  /** The signal's name; that of the wait unless said otherwise. */
  readonly signal?: string;
  /** Which one of that name; the id of the job unless said otherwise. */
  readonly key?: string;
  /** How long to wait; a year at most. */
  readonly timeout: Duration;
  /** A question to a person, shown where waits are. */
  readonly ask?: Ask;
  /** What the value must look like. */
  readonly schema?: StandardSchema<any, T>; // eslint-disable-line @typescript-eslint/no-explicit-any -- whatever goes in
}

/** Options of a call of another task. */
export interface CallOptions {
  /** How long to wait for its end; 30 days unless said otherwise, a year at most. */
  readonly timeout?: Duration;
}

/**
 * What makes a handler durable: named steps that run once, and waits that hold no worker. After a crash, a failure or a
 * wait the handler runs again from its beginning, and gets what it has stored instead of doing it again. Code between
 * steps runs each time.
 */
export interface DurableContext {
  /**
   * Runs a function once per job and keeps what it returns, as JSON. Another attempt gets that instead of running it.
   *
   * @example const charge = await ctx.step('find charge', () => stripe.find(order));
   */
  readonly step: <T>(name: string, run: () => T | Promise<T>, options?: StepOptions) => Promise<T>;
  /**
   * Sleeps without holding a worker: the job goes back to its queue, and the handler starts again when it is over. A
   * sleep below 30 seconds waits in place.
   *
   * @example await ctx.sleep('grace', '1h');
   */
  readonly sleep: (name: string, time: Duration | Date) => Promise<void>;
  /**
   * Waits for a signal without holding a worker. Null if none came in time.
   *
   * @example const answer = await ctx.waitFor<{ approved: boolean }>('approval', { timeout: '3d' });
   */
  readonly waitFor: <T = unknown>(name: string, options: WaitForOptions<T>) => Promise<T | null>;
}
