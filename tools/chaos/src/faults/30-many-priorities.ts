import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import { compareDrains } from '../support/drain.js';

const BATCH = 1_000;
const LEAST_SHARE = 0.5;
const [CROWDED, QUIET] = ['crowded', 'quiet'];

/**
 * Every job that waits for the future has a priority that no other has. What is due on the same queue must not notice:
 * it is drained by turns with a queue on which nothing waits.
 */
export const manyPriorities: Fault = {
  row: 30,
  name: 'every waiting job with a priority of its own',
  check: 'due jobs drain at half the rate of an empty queue, at least',
  unit: 'priorities',
  full: 100_000,
  everyday: 5_000,
  rare: true,
  alone: true,
  async run(stage, count) {
    const database = await stage.database();
    const producer = stage.client(await stage.server({ database, mode: 'api' }));
    const clean = { server: await stage.server({ database, args: [`--default-queue=${QUIET}`] }), queue: QUIET };
    const troubled = { server: await stage.server({ database, args: [`--default-queue=${CROWDED}`] }), queue: CROWDED };
    await createForTomorrow(producer, count);
    await compareDrains(stage, {
      producer,
      clean,
      troubled,
      rounds: 2,
      batches: 2,
      leastShare: LEAST_SHARE,
      what: `beside ${count} priorities`,
    });
    const waiting = await database.liveJobs('scheduled_at > now() AND delivery_count = 0');
    stage.expect(waiting === count, `${waiting} of ${count} jobs wait for tomorrow`);
    const due = await database.liveJobs('scheduled_at <= now()');
    stage.expect(due === 0, `${due} jobs that are due were left`);
  },
};

/** Half of them above the priority of the jobs that are due, half below. */
async function createForTomorrow(client: ChaosClient, count: number): Promise<void> {
  const run_at = new Date(Date.now() + 86_400_000).toISOString();
  for (let first = 0; first < count; first += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, count - first) }, (_, n) => {
      const priority = (first + n + 1) * (n % 2 === 0 ? 1 : -1);
      return { task_name: 'echo', run_at, config: { queue: CROWDED, priority, ...QUICK } };
    });
    await client.batch(jobs);
  }
}
