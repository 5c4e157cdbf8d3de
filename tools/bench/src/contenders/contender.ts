import type { DrainReport } from '../progress.js';
import { BATCH, CALLS_IN_FLIGHT } from '../work.js';

/** What the process of each contender can do. It keeps its state between calls. */
export interface ContenderMethods {
  readonly [method: string]: (argument: never) => unknown;
  /** Connects, and creates its tables if it has any. */
  readonly open: (backends: Backends) => Promise<void>;
  /** Adds jobs in batches by the contender's own means; resolves to milliseconds. */
  readonly enqueue: (jobs: number) => Promise<number>;
  /** Runs this many waiting jobs until their ends are committed. */
  readonly drain: (jobs: number) => Promise<DrainReport>;
}

/** Where a contender stores its jobs. */
export interface Backends {
  readonly databaseUrl: string;
  readonly redisPort?: number | null;
  /** The program that runs River. */
  readonly riverProgram?: string | null;
}

/** Adds full batches from the same number of concurrent callers for every contender; resolves to milliseconds. */
export async function inBatches(jobs: number, add: (caller: number) => Promise<unknown>): Promise<number> {
  let left = Math.ceil(jobs / BATCH);
  const startedAt = performance.now();
  const call = async (caller: number): Promise<void> => {
    while (left-- > 0) await add(caller);
  };
  await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, (_, caller) => call(caller)));
  return performance.now() - startedAt;
}
