import PgBoss from 'pg-boss';
import { serveCalls } from '../env/child.js';
import { Progress, type DrainReport } from '../progress.js';
import { BATCH, PAYLOAD, TASK } from '../work.js';
import { inBatches, type Backends, type ContenderMethods } from './contender.js';

/**
 * pg-boss without its own pauses: `work` sleeps half a second between two fetches, so we call `fetch` and `complete`
 * ourselves in loops that never sleep. A hundred jobs per fetch is what a worker can reasonably hold; a thousand,
 * completed in one call, is the fastest it gets.
 */
const FETCH = 100;
const LARGE_FETCH = 1_000;
const LOOPS = 4;

let boss: PgBoss;

const specs = Array.from({ length: BATCH }, () => ({ name: TASK, data: PAYLOAD }));

async function drain(jobs: number, batchSize: number): Promise<DrainReport> {
  const progress = new Progress(jobs);
  let completed = 0;
  const loop = async (): Promise<void> => {
    for (;;) {
      const fetched = await boss.fetch(TASK, { batchSize });
      if (fetched.length === 0) return;
      for (const _job of fetched) progress.tick();
      // Several jobs at once can only be completed without results.
      const ids = fetched.map((job) => job.id);
      await boss.complete(TASK, ids);
      completed += fetched.length;
    }
  };
  await Promise.all(Array.from({ length: LOOPS }, loop));
  if (completed !== jobs) throw new Error(`${completed} of ${jobs} jobs were completed`);
  return progress.report();
}

const methods = {
  open: async ({ databaseUrl }: Backends): Promise<void> => {
    boss = new PgBoss({ connectionString: databaseUrl, supervise: false, schedule: false });
    boss.on('error', (error) => process.stderr.write(`${error.message}\n`));
    await boss.start();
    await boss.createQueue(TASK);
  },
  enqueue: (jobs: number): Promise<number> => inBatches(jobs, () => boss.insert(specs)),
  drain: (jobs: number): Promise<DrainReport> => drain(jobs, FETCH),
  drainTuned: (jobs: number): Promise<DrainReport> => drain(jobs, LARGE_FETCH),
} satisfies ContenderMethods;

export type PgBossMethods = typeof methods;

serveCalls(methods, () => boss.stop({ graceful: false }));
