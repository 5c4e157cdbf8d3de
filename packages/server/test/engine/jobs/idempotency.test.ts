import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import type { Client } from '../../support/client.js';
import { cancel, complete, getJob, leaseOne, newQueue, stats } from '../kit.js';

describe('an idempotency key', async () => {
  const database = await cloneDatabase();
  const config = { mode: 'api' as const };
  const one = await startTestServer({ database, config });
  const two = await startTestServer({ database, config });
  const { a, b, worker } = one;
  afterAll(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await database.drop();
  });

  const create = (client: Client, key: string, fields: object = {}) =>
    client.post('/api/v1/jobs', { task_name: 't', ...fields }, { 'idempotency-key': key });
  const countOf = async (key: string): Promise<unknown> =>
    (await database.query('SELECT count(*)::int AS n FROM millrace.jobs WHERE idempotency_key = $1', [key]))[0]?.n;

  it('returns the same job whatever the body says', async () => {
    const queue = newQueue();
    const first = await create(a, 'same', { config: { queue } });
    const again = await create(a, '  same ', { task_name: 'other', payload: { x: 1 }, run_at: '2999-01-01T00:00:00Z' });
    expect([first.status, again.status]).toEqual([201, 201]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(await getJob(a, first.body.job_id)).toMatchObject({ task_name: 't', payload: {}, idempotency_key: 'same' });
    expect(await countOf('same')).toBe(1);
  });

  it('is still known after the job has ended, however it ended', async () => {
    const queue = newQueue();
    const done = await create(a, 'done', { config: { queue } });
    expect((await complete(worker, await leaseOne(worker, queue))).status).toBe(204);
    const gone = await create(a, 'gone', { config: { queue } });
    expect((await cancel(a, gone.body.job_id)).status).toBe(204);
    expect((await create(a, 'done', { config: { queue } })).body).toEqual(done.body);
    expect((await create(a, 'gone', { config: { queue } })).body).toEqual(gone.body);
    expect((await worker.post(`/api/v1/queues/${queue}/lease`)).body.jobs).toEqual([]);
  });

  it('belongs to its tenant', async () => {
    const [ours, theirs] = [await create(a, 'shared'), await create(b, 'shared')];
    expect(ours.body.job_id).not.toBe(theirs.body.job_id);
    expect(await getJob(b, theirs.body.job_id)).toMatchObject({ tenant_id: 'tenant-b', idempotency_key: 'shared' });
    expect((await create(b, 'shared')).body).toEqual(theirs.body);
  });

  it('gives one id to fifty callers of two processes, and counts one job', async () => {
    const before = (await stats(one.a)).jobs_created! + (await stats(two.a)).jobs_created!;
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => create(i % 2 ? one.a : two.a, 'fifty', { payload: { i } })),
    );
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 201));
    expect(new Set(replies.map(({ body }) => body.job_id)).size).toBe(1);
    expect(await countOf('fifty')).toBe(1);
    expect((await stats(one.a)).jobs_created! + (await stats(two.a)).jobs_created!).toBe(before + 1);
  });

  it('raced by two processes gets one job, and every caller is told which', async () => {
    const keys = Array.from({ length: 200 }, (_, i) => `race-${i}`);
    const backwards = [...keys].reverse();
    const ask = (client: Client, order: readonly string[]) =>
      Promise.all(order.map(async (key) => [key, (await create(client, key)).body.job_id] as const));
    const [left, right] = await Promise.all([ask(one.a, keys), ask(two.a, backwards)]);
    expect(Object.fromEntries(left)).toEqual(Object.fromEntries(right));
    const [row] = await database.query(
      `SELECT count(*)::int AS jobs, count(DISTINCT idempotency_key)::int AS keys
       FROM millrace.jobs WHERE idempotency_key LIKE 'race-%'`,
    );
    expect(row).toEqual({ jobs: 200, keys: 200 });
  });

  it('must not have the prefix of the service', async () => {
    const reply = await create(a, 'millrace:cron:0198c7f0-0000-7000-8000-000000000000:2030-01-01T00:00:00Z');
    expect(reply.status).toBe(400);
    expect(reply.body.code).toBe('invalid_request');
  });

  it('has at most 255 characters, and an empty one counts as none', async () => {
    expect((await create(a, 'x'.repeat(256))).status).toBe(400);
    expect((await create(a, 'x'.repeat(255))).status).toBe(201);
    const [first, second] = [await create(a, '   '), await create(a, '')];
    expect(first.body.job_id).not.toBe(second.body.job_id);
    expect(await getJob(a, first.body.job_id)).toMatchObject({ idempotency_key: null });
  });
});
