import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { blockClaimOf, blockLeaseOf } from '../blocking.js';
import * as kit from '../kit.js';
import { cancel, complete, createJob, createJobs, fail, getJob, heartbeat, lease, leaseOne, newQueue } from '../kit.js';

describe('cancelling', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });

  it('ends a pending job, which is never leased', async () => {
    const queue = newQueue();
    const ids = [await createJob(a, queue), await createJob(a, queue, { run_at: '2999-01-01T00:00:00Z' })];
    for (const id of ids) {
      const before = await getJob(a, id);
      const reply = await cancel(a, id);
      expect([reply.status, reply.text]).toEqual([204, '']);
      expect(await getJob(a, id)).toEqual({ ...before, status: 'cancelled', completed_at: expect.any(String) });
    }
    expect(await lease(worker, queue)).toEqual([]);
  });

  it('ends a retrying job, which keeps its last error and is never leased', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
    await fail(worker, await leaseOne(worker, queue), { error: 'the last one' });
    expect((await cancel(a, id)).status).toBe(204);
    expect(await getJob(a, id)).toMatchObject({
      status: 'cancelled',
      error_message: 'the last one',
      retry_count: 1,
      delivery_count: 1,
      next_retry_at: null,
    });
    expect(await lease(worker, queue)).toEqual([]);
  });

  it('ends a running job at once; its worker learns of it and changes nothing', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2);
    const [one, two] = await lease(worker, queue, { max_jobs: 2 });
    for (const leased of [one!, two!]) {
      expect((await cancel(a, leased.job.id)).status).toBe(204);
      const cancelled = await getJob(a, leased.job.id);
      expect(cancelled).toEqual({
        ...leased.job,
        status: 'cancelled',
        completed_at: expect.any(String),
        lease_expires_at: null,
      });
      expect((await heartbeat(worker, leased)).body).toEqual({ status: 'cancelled' });
      const late = leased === one ? complete(worker, leased, { late: true }) : fail(worker, leased);
      expect((await late).status).toBe(204);
      expect(await getJob(a, leased.job.id)).toEqual(cancelled);
      expect(await kit.deadLettersOf(a, leased.job.id)).toEqual([]);
    }
    expect(await lease(worker, queue)).toEqual([]);
  });

  it('conflicts for a job that has ended, and changes nothing', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3);
    const [done, failed, stopped] = await lease(worker, queue, { max_jobs: 3 });
    await complete(worker, done!, { kept: true });
    await fail(worker, failed!, { retryable: false });
    await cancel(a, stopped!.job.id);
    for (const { job } of [done!, failed!, stopped!]) {
      const before = await getJob(a, job.id);
      const reply = await cancel(a, job.id);
      expect([reply.status, reply.body.code]).toEqual([409, 'already_finished']);
      expect(await getJob(a, job.id)).toEqual(before);
    }
  });

  it('succeeds once if requested twice at once', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 20);
    await lease(worker, queue, { max_jobs: 10 });
    for (const id of ids) {
      const replies = await Promise.all([cancel(a, id), cancel(a, id), cancel(a, id)]);
      expect(replies.map(({ status }) => status).sort()).toEqual([204, 409, 409]);
    }
  });

  it('cancels the running job if it is just being claimed', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const block = await blockClaimOf(database, id);
    const claiming = lease(worker, queue);
    await block.held();
    const cancelling = cancel(a, id);
    await block.held(2);
    await block.release();
    const [leased] = await claiming;
    expect((await cancelling).status).toBe(204);
    expect(leased?.job).toMatchObject({ id, status: 'running' });
    expect(await getJob(a, id)).toMatchObject({ status: 'cancelled', delivery_count: 1 });
    expect((await complete(worker, leased!, { late: true })).status).toBe(204);
    expect(await getJob(a, id)).toMatchObject({ status: 'cancelled', result: null });
  });

  it('cancels the retry if an attempt is just failing', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
    const leased = await leaseOne(worker, queue);
    const block = await blockLeaseOf(database, id);
    const failing = fail(worker, leased);
    await block.held();
    const cancelling = cancel(a, id);
    await block.held(2);
    await block.release();
    expect([(await failing).status, (await cancelling).status]).toEqual([204, 204]);
    expect(await getJob(a, id)).toMatchObject({ status: 'cancelled', retry_count: 1, error_message: 'broken' });
    expect(await lease(worker, queue)).toEqual([]);
  });

  it('races with claims, completions and retries to a legal state, and holds once acknowledged', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 150, { retry_delay_secs: 0, max_retries: 1 });
    const work = async (n: number): Promise<void> => {
      for (let empty = 0; empty < 3;) {
        const leased = await lease(worker, queue, { max_jobs: 5 });
        if (leased.length === 0) empty++;
        await Promise.all(
          leased.map((leasedJob, i) => ((i + n) % 2 ? complete(worker, leasedJob) : fail(worker, leasedJob))),
        );
      }
    };
    const cancelling = Promise.all(ids.map(async (id) => [id, (await cancel(a, id)).status] as const));
    const [statuses] = await Promise.all([cancelling, ...[0, 1, 2, 3].map(work)]);
    await work(0);
    for (const [id, status] of statuses) {
      const job = await getJob(a, id);
      if (status === 204) expect(job.status).toBe('cancelled');
      else expect([status, ['completed', 'failed'].includes(job.status)]).toEqual([409, true]);
      expect(job.delivery_count).toBeLessThanOrEqual(2);
      expect(job.retry_count).toBeLessThanOrEqual(1);
    }
  });
});
