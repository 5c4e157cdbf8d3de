import { startProxy } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import { stretched } from '../stage/contention.js';
import { jobsOn } from '../support/jobs.js';

const LEASE_SECS = 4;
const JOBS_EACH = 5;
/** How late a heartbeat may be sent, half a lease after the one before, to arrive in time on these links. */
const SPARE_MS = LEASE_SECS * 500 - 700;

/**
 * Everything takes long, both between the workers and the server and between the server and its database. Workers that
 * send a heartbeat every half lease still keep the jobs they hold.
 */
export const slowLink: Fault = {
  row: 10,
  name: 'slow link',
  check: 'no reclaim while half-lease heartbeats arrive',
  unit: 'seconds',
  full: 1_800,
  everyday: 8,
  async run(stage, count) {
    const startedAt = performance.now();
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
        await client.batch(jobsOn('remote', workers.length * JOBS_EACH));
        await stage.drained(database);
      } while (performance.now() < endsAt);
      await Promise.all(workers.map((worker) => worker.terminate()));
    } finally {
      await toServer.close();
    }
    const again = await database.count('millrace.job_records WHERE delivery_count > 1');
    const stoodStillMs = stretched(0, performance.now() - startedAt);
    if (stoodStillMs > SPARE_MS) {
      stage.note(`the machine stood still for ${Math.round(stoodStillMs)} ms, and ${again} jobs were delivered again`);
      return;
    }
    stage.expect(again === 0, `${again} jobs were delivered again although their workers kept their leases alive`);
  },
};
