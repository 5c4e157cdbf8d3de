import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Handler } from '../../../src/index.js';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import type { Reply } from '../../support/client.js';
import {
  cancel,
  comparable,
  complete,
  createJob,
  expireLease,
  fail,
  getJob,
  idsOf,
  inSeconds,
  lease,
  leaseOne,
  newQueue,
  NEWS_ALONE,
  report,
  SWEEP_OFTEN,
  waitFor,
} from '../kit.js';
import { startAnotherServer } from '../another-server.js';
import { inTime, leaseSome, LONGEST_WAIT_SECS } from '../waiting.js';
import { openEvents } from './sse.js';

const POOL_QUEUE = 'pool';
/** A server stops its jobs after a second, and waits for another one for what comes of that. */
const STOPPED_SECS = 2;
const { a, b, worker, metricsUrl, database } = await useTestServer({
  config: { mode: 'api', defaultQueue: POOL_QUEUE, shutdownSecs: 1 },
  intervals: { ...SWEEP_OFTEN, ...NEWS_ALONE },
});

const runNow = (id: string, client = a): Promise<Reply> => client.post(`/api/v1/jobs/${id}/run-now`);

describe('running a job now', () => {
  it('makes a scheduled job due, and the instant survives claim, release, expiry and the end', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { run_at: inSeconds(3600), config: { retry_delay_secs: 0 } });
    const before = await getJob(a, id);
    expect(await lease(worker, queue)).toEqual([]);
    const reply = await runNow(id);
    expect([reply.status, reply.text]).toEqual([204, '']);
    const due = await getJob(a, id);
    expect(due).toMatchObject({ status: 'pending', retry_count: 0, delivery_count: 0, created_at: before.created_at });
    expect(comparable(due.scheduled_at) < comparable(before.scheduled_at)).toBe(true);
    const first = await leaseOne(worker, queue);
    expect(first.job.scheduled_at).toBe(due.scheduled_at);
    await report(worker, 'release', first);
    expect(await getJob(a, id)).toMatchObject({ status: 'pending', scheduled_at: due.scheduled_at });
    const [second] = await lease(worker, queue);
    expect(second!.job.scheduled_at).toBe(due.scheduled_at);
    await expireLease(database, id);
    await waitFor(a, id, 'retrying');
    const third = await leaseOne(worker, queue);
    await complete(worker, third);
    expect(await getJob(a, id)).toMatchObject({ status: 'completed', scheduled_at: third.job.scheduled_at });
  });

  it('makes a retrying job due, and the instant stays through the claim and the end', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 3600 } });
    await fail(worker, await leaseOne(worker, queue));
    const before = await getJob(a, id);
    expect((await runNow(id)).status).toBe(204);
    const due = await getJob(a, id);
    expect(due).toMatchObject({ status: 'retrying', retry_count: 1, error_message: 'broken' });
    expect(due.next_retry_at).toBe(due.scheduled_at);
    expect(comparable(due.scheduled_at) < comparable(before.scheduled_at)).toBe(true);
    const leased = await leaseOne(worker, queue);
    expect(leased.job).toMatchObject({ id, scheduled_at: due.scheduled_at, delivery_count: 2, retry_count: 1 });
    await report(worker, 'release', leased);
    expect(await getJob(a, id)).toMatchObject({ status: 'retrying', scheduled_at: due.scheduled_at });
    await complete(worker, await leaseOne(worker, queue));
    expect(await getJob(a, id)).toMatchObject({ status: 'completed', scheduled_at: due.scheduled_at });
  });

  it('makes a job due that was given back for later', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    await report(worker, 'release', await leaseOne(worker, queue), { delay_secs: 3600 });
    await runNow(id);
    const due = await getJob(a, id);
    const leased = await leaseOne(worker, queue);
    expect(leased.job.scheduled_at).toBe(due.scheduled_at);
    expect((await getJob(a, id)).scheduled_at).toBe(due.scheduled_at);
  });

  it('survives being claimed with others into a bundle', async () => {
    const create = (): Promise<string> =>
      createJob(a, POOL_QUEUE, { task_name: 'waits', run_at: inSeconds(3600), config: { timeout_secs: 3600 } });
    const waits: Handler = (_payload, { signal }) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve({})));
    // A stop that takes longer may not give back all that it interrupts.
    await inTime(STOPPED_SECS, async (time) => {
      const ids = await Promise.all(Array.from({ length: 12 }, create));
      for (const id of ids) await runNow(id);
      const due = await Promise.all(ids.map(async (id) => (await getJob(a, id)).scheduled_at));
      const pool = await startAnotherServer(
        database,
        { mode: 'worker', workers: 12, defaultQueue: POOL_QUEUE, shutdownSecs: 1 },
        { waits },
      );
      await waitFor(a, ids[11]!, 'running');
      const bundled = 'SELECT sum(cardinality(ids))::int AS n FROM millrace.bundles WHERE ids && $1';
      expect(await database.query(bundled, [ids])).toEqual([{ n: 12 }]);
      for (const [n, id] of ids.entries()) {
        expect((await getJob(a, id)).scheduled_at).toBe(due[n]);
        if (n < 6) await cancel(a, id);
      }
      time.restart();
      await pool.stop();
      time.stop();
      for (const [n, id] of ids.entries()) {
        const status = n < 6 ? 'cancelled' : 'pending';
        expect(await getJob(a, id)).toMatchObject({ status, scheduled_at: due[n] });
        if (n >= 6) await cancel(a, id);
      }
    });
  });

  it('wakes a lease that waits', async () => {
    await inTime(LONGEST_WAIT_SECS, async (time) => {
      const queue = newQueue();
      const id = await createJob(a, queue, { run_at: inSeconds(3600) });
      const waiting = lease(worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      const waits = async (): Promise<boolean> =>
        /^millrace_long_polls 1$/m.test(await (await fetch(`${metricsUrl}/metrics`)).text());
      await until(async () => time.isUp || (await waits()));
      await runNow(id);
      expect(idsOf(await waiting)).toEqual([id]);
    });
  });

  it('leaves a job alone that is due already', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const before = await getJob(a, id);
    expect((await runNow(id)).status).toBe(204);
    expect(await getJob(a, id)).toEqual(before);
  });

  it('is refused while the job runs and once it has ended', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    const running = await runNow(id);
    expect([running.status, running.body.code]).toEqual([409, 'conflict']);
    await complete(worker, leased);
    const ended = await runNow(id);
    expect([ended.status, ended.body.code]).toEqual([409, 'already_finished']);
  });

  it('belongs to the tenant of the job', async () => {
    const id = await createJob(a, newQueue(), { run_at: inSeconds(3600) });
    const before = await getJob(a, id);
    expect((await runNow(id, b)).body.code).toBe('forbidden');
    expect((await runNow(id, worker)).status).toBe(401);
    for (const unknown of [randomUUID(), 'none']) expect((await runNow(unknown)).body.code).toBe('not_found');
    expect(await getJob(a, id)).toEqual(before);
  });

  it('works for the job of a step', async () => {
    const config = { retry_delay_secs: 3600 };
    const steps = [{ name: 'only', task_name: 'task', depends_on: [], config }];
    const { body } = await a.post('/api/v1/workflows', { name: 'w', steps });
    const first = await leaseOne(worker, POOL_QUEUE);
    await fail(worker, first);
    expect(await lease(worker, POOL_QUEUE)).toEqual([]);
    expect((await runNow(first.job.id)).status).toBe(204);
    await complete(worker, await leaseOne(worker, POOL_QUEUE));
    expect((await a.get(`/api/v1/workflows/${body.workflow_id}`)).body.status).toBe('completed');
  });

  it('is told to the streams of the job', async () => {
    const id = await createJob(a, newQueue(), { run_at: inSeconds(3600) });
    const events = await openEvents(a, id);
    const first = await events.next();
    await runNow(id);
    const second = await events.next();
    expect(second).toMatchObject({ id, status: 'pending', scheduled_at: (await getJob(a, id)).scheduled_at });
    expect(second!.scheduled_at).not.toBe(first!.scheduled_at);
    await cancel(a, id);
    expect(await events.rest()).toMatchObject([{ status: 'cancelled' }]);
  });

  it('never makes two of a job that is claimed at that moment', async () => {
    const queue = newQueue();
    for (let round = 0; round < 20; round++) {
      const id = await createJob(a, queue, { config: { retry_delay_secs: 3600 }, run_at: inSeconds(0.05) });
      const [leases, ...answers] = await Promise.all([
        leaseSome(worker, queue),
        ...Array.from({ length: 8 }, () => runNow(id)),
      ]);
      expect(leases).toHaveLength(1);
      for (const { status } of answers) expect([204, 409]).toContain(status);
      const rows = await database.query(
        `SELECT (SELECT count(*) FROM millrace.ready WHERE id = $1)::int AS ready,
                (SELECT count(*) FROM millrace.leases WHERE id = $1)::int AS leases`,
        [id],
      );
      expect(rows).toEqual([{ ready: 0, leases: 1 }]);
      await complete(worker, leases[0]!);
    }
  });
});
