import type { Fault } from '../fault.js';
import { startProxy } from '../stage/proxy.js';
import { QUICK } from '../stage/actors.js';

const LEASE_SECS = 4;
const JOBS_EACH = 5;

/**
 * Everything takes long: the way from the workers to the server, and from the server to its database. Workers that heartbeat every half lease
 * keep what they hold all the same.
 */
export const slowLink: Fault = {
  row: 10,
  name: 'slow link',
  check: 'no reclaim while half-lease heartbeats arrive',
  unit: 'seconds',
  full: 1_800,
  everyday: 8,
  async run(stage, count) {
    const database = await stage.database();
    const delays = stage.random.fork('delays');
    const toDatabase = await stage.proxy(database);
    toDatabase.slow(() => delays.between(20, 80));
    const server = await stage.server({ database, databaseUrl: toDatabase.url, mode: 'api' });
    const toServer = await startProxy(server.url);
    toServer.slow(() => delays.between(50, 300));
    try {
      const workMs: readonly [number, number] = [LEASE_SECS * 2_000, LEASE_SECS * 2_500];
      const urls = [toServer.url];
      const workers = [1, 2, 3].map(() => stage.worker({ urls, leaseSecs: LEASE_SECS, maxJobs: JOBS_EACH, workMs }));
      const client = stage.client(server);
      const endsAt = performance.now() + count * 1_000;
      do {
        const jobs = Array.from({ length: workers.length * JOBS_EACH }, () => ({
          task_name: 'work',
          config: { queue: 'remote', ...QUICK },
        }));
        await client.batch(jobs);
        await stage.drained(database, 60_000);
      } while (performance.now() < endsAt);
      await Promise.all(workers.map((worker) => worker.terminate()));
    } finally {
      await toServer.close();
    }
    const again = await database.count('millrace.job_records WHERE delivery_count > 1');
    stage.expect(again === 0, `${again} jobs were delivered again although their workers kept their leases alive`);
  },
};
