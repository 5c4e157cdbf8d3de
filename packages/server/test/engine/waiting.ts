import type { Client } from '../support/client.js';
import type { TestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { lease, type Leased, type LeaseOptions } from './kit.js';

/** Jobs of a queue as soon as it has some, for tests to which it makes no difference how soon that is. */
export const leaseSome = (worker: Client, queue: string, options: LeaseOptions = {}): Promise<Leased[]> =>
  until(
    async () => {
      const leased = await lease(worker, queue, { wait_secs: 20, ...options });
      return leased.length > 0 && leased;
    },
    { what: `a job on ${queue}` },
  );

export const leaseNext = async (worker: Client, queue: string, options: LeaseOptions = {}): Promise<Leased> =>
  (await leaseSome(worker, queue, options))[0]!;

/** How long a call waits at most, if it asks for as much. */
export const LONGEST_WAIT_SECS = 30;

export interface Time {
  readonly isUp: boolean;
  /** It counts from here. */
  restart(): void;
  /** It counts up to here: what follows may take as long as it likes. */
  stop(): void;
}

/**
 * What came of a try that was in time. Something in the product ends by itself after so many seconds, such as the wait
 * of a call, and on a machine that is held up these may pass between two lines of a test: then the try shows nothing,
 * whatever came of it, and there is another, with jobs and calls of its own. One in time counts, and so does its
 * failure. Where all waits run out, since nobody is told of what they wait for, no try ever is in time.
 */
export async function inTime<T>(secs: number, attempt: (time: Time) => Promise<T>): Promise<T> {
  const { value } = await until(
    async () => {
      const time = timeOf(secs);
      try {
        const value = await attempt(time);
        return time.isUp ? `one took ${secs} s` : { value };
      } catch (error) {
        if (!time.isUp) throw error;
        return `one took ${secs} s: ${String(error)}`;
      }
    },
    { what: `a try that takes less than ${secs} s` },
  );
  return value;
}

function timeOf(secs: number): Time {
  let [from, to] = [performance.now(), null as number | null];
  return {
    // Timers may be early by a little.
    get isUp() {
      return (to ?? performance.now()) - from > secs * 1000 - 100;
    },
    restart: () => void (from = performance.now()),
    stop: () => void (to = performance.now()),
  };
}

/** Calls that wait for jobs, as the server counts them. */
export async function longPolls({ metricsUrl }: Pick<TestServer, 'metricsUrl'>): Promise<number> {
  const page = await (await fetch(`${metricsUrl}/metrics`)).text();
  return Number(/^millrace_long_polls (\d+)$/m.exec(page)?.[1]);
}
