import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import * as kit from '../kit.js';
import {
  complete,
  createJob,
  createJobs,
  fail,
  getJob,
  heartbeat,
  idsOf,
  inSeconds,
  lease,
  leaseOne,
  newQueue,
  NO_SWEEPS,
} from '../kit.js';

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const { a, b, worker } = await useTestServer({ config: { mode: 'api' }, intervals: NO_SWEEPS });

describe('leasing', () => {
  it('goes by priority, then scheduled_at, then created_at, retries included', async () => {
    const queue = newQueue();
    const retried = await createJob(a, queue, { config: { retry_delay_secs: 0, priority: 5 } });
    await fail(worker, await leaseOne(worker, queue));
    const low = await createJob(a, queue, { config: { priority: -1 } });
    const later = await createJob(a, queue, { config: { priority: 5 } });
    const plain = await createJob(a, queue);
    const past = await createJob(a, queue, { run_at: inSeconds(-60) });
    const [one, two, three] = await createJobs(a, queue, 3, { priority: 5 });
    const first = await createJob(a, queue, { config: { priority: 9 } });
    await createJob(a, queue, { run_at: inSeconds(600), config: { priority: 99 } });
    const order = [first, retried, later, one, two, three, past, plain, low];
    const some = idsOf(await lease(worker, queue, { max_jobs: 4 }));
    expect([...some, ...idsOf(await lease(worker, queue, { max_jobs: 100 }))]).toEqual(order);
  });

  it('without a body claims one job for thirty seconds without waiting', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3);
    const path = `/api/v1/queues/${queue}/lease`;
    for (const options of [{}, { headers: { 'content-type': 'application/json' } }, { body: '{}' }]) {
      const reply = await worker.send('POST', path, options);
      expect(reply.status).toBe(200);
      expect(reply.body.jobs).toHaveLength(1);
    }
    expect((await worker.send('POST', path)).body).toEqual({ jobs: [] });
  });

  it('clamps numbers that are out of range', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 102);
    expect(await lease(worker, queue, { max_jobs: 0 })).toHaveLength(1);
    expect(await lease(worker, queue, { max_jobs: 101, lease_secs: 3601, wait_secs: 31 })).toHaveLength(100);
    const last = await leaseOne(worker, queue, { lease_secs: 0, wait_secs: -1 });
    expect((await heartbeat(worker, last, 0)).body).toEqual({ status: 'running' });
    expect((await heartbeat(worker, last, 99_999)).body).toEqual({ status: 'running' });
  });

  it('issues a new token on every claim and shows it nowhere else', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0, max_retries: 5 } });
    const tokens: string[] = [];
    for (let delivery = 1; delivery <= 3; delivery++) {
      const leased = await leaseOne(worker, queue);
      tokens.push(leased.lease_token);
      expect(leased.job).toMatchObject({ id, status: 'running', delivery_count: delivery, retry_count: delivery - 1 });
      const shown = await a.get(`/api/v1/jobs/${id}`);
      expect(shown.body).toEqual(leased.job);
      const everywhere = [shown.text, (await a.get(`/api/v1/jobs?queue=${queue}`)).text];
      for (const text of everywhere) {
        expect(text).not.toContain(leased.lease_token);
        expect(text).not.toContain('token');
      }
      expect(kit.comparable(leased.job.started_at) >= kit.comparable(leased.job.scheduled_at)).toBe(true);
      await fail(worker, leased);
    }
    expect(new Set(tokens).size).toBe(3);
    for (const token of tokens) expect(token).toMatch(UUID_V4);
  });

  it('never gives one job to two callers', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 200);
    const claims = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const claimed: string[] = [];
        for (;;) {
          const jobs = await lease(worker, queue, { max_jobs: 7 });
          if (jobs.length === 0) return claimed;
          claimed.push(...idsOf(jobs));
        }
      }),
    );
    expect(claims.flat().sort()).toEqual([...ids].sort());
  });

  it('leases from exactly one queue', async () => {
    const [here, there] = [newQueue(), newQueue()];
    await createJob(a, here);
    expect(await lease(worker, there, { max_jobs: 100 })).toEqual([]);
    expect(await lease(worker, here, { max_jobs: 100 })).toHaveLength(1);
  });
});

describe('reporting', () => {
  const held = async (config: object = {}): Promise<kit.Leased> => {
    const queue = newQueue();
    await createJob(a, queue, { config });
    return leaseOne(worker, queue);
  };
  const stranger = (leased: kit.Leased): kit.Leased => ({ ...leased, lease_token: randomUUID() });

  it('a wrong token is a lost lease and changes nothing', async () => {
    const leased = await held();
    for (const other of [stranger(leased), { ...leased, lease_token: 'not a uuid' }, { ...leased, lease_token: '' }]) {
      for (const reply of [await complete(worker, other), await fail(worker, other), await heartbeat(worker, other)]) {
        expect(reply.status).toBe(409);
        expect(reply.body.code).toBe('lease_lost');
      }
    }
    expect(await getJob(a, leased.job.id)).toEqual(leased.job);
    expect((await complete(worker, leased)).status).toBe(204);
  });

  it('a token may be in upper case', async () => {
    const leased = await held();
    const loud = {
      job: { ...leased.job, id: leased.job.id.toUpperCase() },
      lease_token: leased.lease_token.toUpperCase(),
    };
    expect((await heartbeat(worker, loud)).body).toEqual({ status: 'running' });
    expect((await complete(worker, loud)).status).toBe(204);
    expect((await getJob(a, leased.job.id)).status).toBe('completed');
  });

  it.each(['heartbeat', 'complete', 'fail'])('%s on an unknown job is a 404, without a token a 400', async (what) => {
    const body = { lease_token: randomUUID(), error: 'x', extend_secs: 5 };
    for (const id of [randomUUID(), 'x', '1', '%00']) {
      expect((await worker.post(`/api/v1/jobs/${id}/${what}`, body)).status).toBe(404);
    }
    const { job } = await held();
    expect((await worker.post(`/api/v1/jobs/${job.id}/${what}`, { ...body, lease_token: undefined })).status).toBe(400);
    expect((await worker.post(`/api/v1/jobs/${job.id}/${what}`, { ...body, lease_token: 5 })).status).toBe(400);
    expect((await worker.post(`/api/v1/jobs/${job.id}/${what}`)).status).toBe(400);
  });

  it('a token of another job is refused', async () => {
    const [one, two] = [await held(), await held()];
    expect((await complete(worker, { job: one.job, lease_token: two.lease_token })).status).toBe(409);
    expect((await getJob(a, one.job.id)).status).toBe('running');
  });

  it('completing twice is accepted, and the first result is kept', async () => {
    const leased = await held();
    expect((await complete(worker, leased, { first: true })).status).toBe(204);
    const { completed_at } = await getJob(a, leased.job.id);
    const again = [
      await complete(worker, leased, { second: true }),
      await complete(worker, stranger(leased), { third: true }),
      await fail(worker, leased),
    ];
    for (const reply of again) expect([reply.status, reply.text]).toEqual([204, '']);
    const job = await getJob(a, leased.job.id);
    expect(job).toMatchObject({ status: 'completed', result: { first: true }, error_message: null, completed_at });
    expect(await kit.deadLettersOf(a, leased.job.id)).toEqual([]);
  });

  it('a heartbeat on a finished job returns its status', async () => {
    const [done, failed, stopped] = [await held(), await held(), await held()];
    await complete(worker, done);
    await fail(worker, failed, { retryable: false });
    await kit.cancel(a, stopped.job.id);
    for (const [leased, status] of [
      [done, 'completed'],
      [failed, 'failed'],
      [stopped, 'cancelled'],
    ] as const) {
      const reply = await heartbeat(worker, leased);
      expect([reply.status, reply.body]).toEqual([200, { status }]);
      expect((await heartbeat(worker, stranger(leased))).body).toEqual({ status });
    }
  });

  it('a heartbeat on a waiting job is a lost lease', async () => {
    const retrying = await held({ retry_delay_secs: 600 });
    await fail(worker, retrying);
    const pending = { job: { ...retrying.job, id: await createJob(b, newQueue()) }, lease_token: randomUUID() };
    for (const leased of [retrying, pending]) {
      for (const reply of [
        await heartbeat(worker, leased),
        await complete(worker, leased),
        await fail(worker, leased),
      ]) {
        expect(reply.body.code).toBe('lease_lost');
        expect(reply.status).toBe(409);
      }
    }
  });

  it('a failure is retryable by default, and its text is kept', async () => {
    const retried = await held({ retry_delay_secs: 600 });
    expect((await kit.report(worker, 'fail', retried, { error: 'try again' })).text).toBe('');
    expect(await getJob(a, retried.job.id)).toMatchObject({
      status: 'retrying',
      retry_count: 1,
      error_message: 'try again',
    });
    const given = await held();
    await fail(worker, given, { error: 'for good', retryable: false });
    expect(await getJob(a, given.job.id)).toMatchObject({
      status: 'failed',
      retry_count: 0,
      error_message: 'for good',
      result: null,
      completed_at: expect.any(String),
      next_retry_at: null,
    });
    expect(await kit.deadLettersOf(a, given.job.id)).toMatchObject([{ reason: 'non_retryable' }]);
    const { job, lease_token } = await held();
    expect((await worker.post(`/api/v1/jobs/${job.id}/fail`, { lease_token })).status).toBe(400);
  });

  it('neither the timeout nor an expired lease that is not yet reclaimed prevents a late report', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3, { timeout: 1 });
    const [late, failed, revived] = (await lease(worker, queue, { max_jobs: 3, lease_secs: 300 })) as [
      kit.Leased,
      kit.Leased,
      kit.Leased,
    ];
    // Past the timeout but not past the lease: remote workers are bound by the lease alone.
    const started = Date.parse(late.job.started_at!);
    await until(() => Date.now() - started > 1_300, { what: 'the timeout to be over' });
    expect((await heartbeat(worker, revived)).body).toEqual({ status: 'running' });
    expect((await complete(worker, late, { late: true })).status).toBe(204);
    expect(await getJob(a, late.job.id)).toMatchObject({
      status: 'completed',
      result: { late: true },
      delivery_count: 1,
    });
    expect((await fail(worker, failed)).status).toBe(204);
    expect((await complete(worker, revived)).status).toBe(204);
  });

  it('answers 204 without a body', async () => {
    const leased = await held();
    const reply = await complete(worker, leased);
    expect([reply.status, reply.text, reply.headers.get('content-length')]).toEqual([204, '', null]);
    expect(reply.headers.get('content-type')).toBeNull();
  });
});
