import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import { startApiPair } from '../support/api-pair.js';
import { inTurn, together } from '../support/concurrency.js';

const LESSEES = 32;
const QUEUE = 'crowded';
const BATCH = 1_000;
/** After this long without a completion, the rest will never come. */
const STALLED_MS = 30_000;

/**
 * Thirty-two callers lease from one queue through two processes while it is being filled. No job may go to two of them.
 */
export const manyLessees: Fault = {
  row: 22,
  name: 'thirty-two lessees',
  check: 'no double claim',
  unit: 'jobs',
  full: 100_000,
  everyday: 2_000,
  async run(stage, count) {
    const { database, clients } = await startApiPair(stage);
    const holders = new Map<string, number>();
    let completed = 0;
    let progressAt = performance.now();
    const lessee = async (client: ChaosClient, number: number): Promise<void> => {
      while (completed < count && performance.now() - progressAt < STALLED_MS) {
        const jobs = await client.lease(QUEUE, { max: stage.random.integer(1, 25), secs: 600, wait: 1 });
        for (const { id } of jobs) {
          const other = holders.get(id);
          if (other !== undefined) stage.violation(`job ${id} was given to ${other} and to ${number}`);
          holders.set(id, number);
        }
        const reports = await Promise.all(jobs.map(({ id, token }) => client.complete(id, token)));
        completed += reports.filter(({ status }) => status === 204).length;
        if (reports.length > 0) progressAt = performance.now();
      }
    };
    const fill = async (): Promise<void> => {
      for (let made = 0; made < count; made += BATCH) {
        const jobs = Array.from({ length: Math.min(BATCH, count - made) }, () => ({
          task_name: 'work',
          config: { queue: QUEUE, priority: stage.random.integer(0, 3), ...QUICK },
        }));
        await clients[0].batch(jobs);
      }
    };
    await Promise.all([fill(), together(LESSEES, (i) => lessee(inTurn(clients, i), i))]);
    stage.expect(completed === count, `${completed} of ${count} jobs were completed`);
    const again = await database.count('millrace.job_records WHERE delivery_count <> 1');
    stage.expect(again === 0, `${again} jobs were not delivered exactly once`);
    stage.expect(holders.size === count, `${holders.size} of ${count} jobs were given out`);
    await stage.drained(database);
  },
};
