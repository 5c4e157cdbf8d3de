import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run, type WorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { serveCalls } from '../env/child.js';
import { Progress, type DrainReport } from '../progress.js';
import { BATCH, PAYLOAD, TASK } from '../work.js';
import { inBatches, type Backends, type ContenderMethods } from './contender.js';

/**
 * graphile-worker in two ways: plain, as it comes, with ten jobs at a time; and tuned for throughput as its
 * documentation suggests, with a local queue, batched completion and more jobs at a time. Either way it deletes
 * finished jobs and keeps no results.
 */
const PLAIN = { concurrentJobs: 10, maxPoolSize: 12 };
const TUNED = {
  concurrentJobs: 24,
  maxPoolSize: 26,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

/** It would log two lines per job. */
const silent = new Logger(() => () => undefined);

let databaseUrl = '';
let utils: WorkerUtils;

const specs = Array.from({ length: BATCH }, () => ({ identifier: TASK, payload: PAYLOAD }));

async function drain(jobs: number, worker: typeof PLAIN | typeof TUNED): Promise<DrainReport> {
  const progress = new Progress(jobs);
  const runner = await run({
    connectionString: databaseUrl,
    taskList: { [TASK]: () => progress.tick() },
    noHandleSignals: true,
    logger: silent,
    // It adds one listener per running job by design; that is no leak.
    events: new EventEmitter().setMaxListeners(0),
    preset: { worker },
  });
  await progress.handled;
  await untilGone();
  const report = progress.report();
  await runner.stop();
  return report;
}

async function untilGone(): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const question = 'SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS some';
  while ((await client.query<{ some: boolean }>(question)).rows[0]?.some !== false) await sleep(2);
  await client.end();
}

const methods = {
  open: async (backends: Backends): Promise<void> => {
    databaseUrl = backends.databaseUrl;
    utils = await makeWorkerUtils({ connectionString: databaseUrl, logger: silent });
    await utils.migrate();
  },
  enqueue: (jobs: number): Promise<number> => inBatches(jobs, () => utils.addJobs(specs)),
  drain: (jobs: number): Promise<DrainReport> => drain(jobs, PLAIN),
  drainTuned: (jobs: number): Promise<DrainReport> => drain(jobs, TUNED),
} satisfies ContenderMethods;

export type GraphileMethods = typeof methods;

serveCalls(methods, async () => utils.release());
