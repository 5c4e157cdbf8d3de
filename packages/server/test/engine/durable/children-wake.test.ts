import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { complete, createJob, idsOf, lease, leaseOne, newQueue, report } from '../kit.js';
import { inTime, LONGEST_WAIT_SECS } from '../waiting.js';
import { suspend } from './kit.js';

const HOUR = 3_600;

describe('the end of the last child', async () => {
  const never = { sweepMs: 3_600_000, safetyPollMs: 3_600_000 };
  const server = await useTestServer({ config: { mode: 'api' }, intervals: never });
  const { a, worker } = server;

  it('wakes its parent without any sweep, in the process that ended it, and all who wait for the queue', async () => {
    await inTime(LONGEST_WAIT_SECS, async (time) => {
      const [queue, below] = [newQueue(), newQueue()];
      await createJob(a, queue);
      const parent = await leaseOne(worker, queue);
      const jobs = Array.from({ length: 50 }, (_, n) => ({ name: `n${n}`, task_name: 't', config: { queue: below } }));
      await report(worker, 'children', parent, { jobs });
      const children = jobs.map(({ name }) => name);
      await suspend(worker, parent, { checkpoint: 'all', delay_secs: HOUR, wait: { children } });
      time.restart();
      const woken = lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      const leased = await lease(worker, below, { max_jobs: 50 });
      const reports = leased.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
      await Promise.all([
        worker.post('/api/v1/reports', { reports: reports.slice(0, 25) }),
        worker.post('/api/v1/reports', { reports: reports.slice(25, 40) }),
        ...leased.slice(40).map((each) => complete(worker, each)),
      ]);
      expect(idsOf(await woken)).toEqual([parent.job.id]);
    });
  });
});
