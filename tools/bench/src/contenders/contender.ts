import type { DrainReport } from '../progress.js';
import { BATCH, CALLS_IN_FLIGHT } from '../work.js';

/** What each contender's process can do. It keeps whatever it needs between the calls. */
export interface ContenderMethods {
  readonly [method: string]: (argument: never) => unknown;
  /** Connects, and makes its tables where it has any. */
  readonly open: (place: Place) => Promise<void>;
  /** Adds so many jobs in batches, by the contender's own means; resolves to milliseconds. */
  readonly enqueue: (jobs: number) => Promise<number>;
  /** Runs so many jobs, which must be waiting, to their committed end. */
  readonly drain: (jobs: number) => Promise<DrainReport>;
}

export interface Place {
  readonly databaseUrl: string;
  readonly redisPort: number | null;
}

/** Full batches from as many callers as everybody else has; resolves to milliseconds. */
export async function inBatches(jobs: number, add: (caller: number) => Promise<unknown>): Promise<number> {
  let left = Math.ceil(jobs / BATCH);
  const startedAt = performance.now();
  const call = async (caller: number): Promise<void> => {
    while (left-- > 0) await add(caller);
  };
  await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, (_, caller) => call(caller)));
  return performance.now() - startedAt;
}
