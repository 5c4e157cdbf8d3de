import type { Count, Counts } from '@millrace/contract';
import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { JWT_SECRET, startTestServer, useTestServer } from '../../support/server.js';
import { cancel, complete, createJob, createJobs, fail, inSeconds, leaseOne, newQueue } from '../kit.js';

async function counts(client: Client, query = ''): Promise<Counts> {
  const reply = await client.get(`/api/v1/counts${query}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body as Counts;
}

const numbers = (of: Readonly<Record<string, Count>>): Record<string, number> =>
  Object.fromEntries(Object.entries(of).map(([state, { n }]) => [state, n]));

describe('counts', async () => {
  const server = await useTestServer({ config: { mode: 'api' } });
  const { a, b, worker } = server;

  it('have each job once, in the state it is in', async () => {
    const queue = newQueue();
    await createJob(a, queue, { run_at: inSeconds(3600) });
    const fate = async (settle: (leased: Awaited<ReturnType<typeof leaseOne>>) => Promise<unknown>): Promise<void> => {
      await createJob(a, queue);
      await settle(await leaseOne(worker, queue));
    };
    await fate((leased) => complete(worker, leased));
    await fate((leased) => fail(worker, leased, { retryable: false }));
    await fate((leased) => fail(worker, leased));
    await fate(() => Promise.resolve());
    await cancel(a, await createJob(a, queue));
    await createJob(a, queue);

    const all = await counts(a);
    expect(numbers(all.jobs)).toEqual({
      pending: 1,
      scheduled: 1,
      retrying: 1,
      running: 1,
      completed: 1,
      failed: 1,
      cancelled: 1,
    });
    expect(Object.values(all.jobs).every(({ exact }) => exact)).toBe(true);
    expect(all.dead_letters).toEqual({ n: 1, exact: true });
    expect(numbers((await counts(b)).jobs)).toEqual(numbers({ ...all.jobs, ...zeros(all.jobs) }));
  });

  it('of one queue leave out the others, and take what has ended from the series', async () => {
    const queue = newQueue();
    const other = await startTestServer({ config: { mode: 'api' }, database: server.database });
    await createJob(other.a, queue);
    await complete(other.worker, await leaseOne(other.worker, queue));
    await other.stop();
    await createJobs(a, queue, 2);
    const { jobs, dead_letters } = await counts(a, `?queue=${queue}`);
    expect(numbers(jobs)).toMatchObject({ pending: 2, scheduled: 0, completed: 1, failed: 0 });
    expect(jobs.completed.exact).toBe(false);
    expect(jobs.pending.exact).toBe(true);
    expect(dead_letters).toEqual({ n: 0, exact: true });
  });

  it('count workflows by state', async () => {
    const steps = [{ name: 'one', task_name: 'task' }];
    const { body } = await a.post('/api/v1/workflows', { name: 'w', steps });
    await a.post('/api/v1/workflows', { name: 'w', steps });
    await a.post(`/api/v1/workflows/${body.workflow_id as string}/cancel`);
    expect(numbers((await counts(a)).workflows)).toMatchObject({ created: 1, cancelled: 1, running: 0 });
  });

  it('beyond ten thousand are estimates', async () => {
    const queue = newQueue();
    await createJobs(b, queue, 12_000);
    const { jobs } = await counts(b);
    expect(jobs.pending.exact).toBe(false);
    expect(jobs.pending.n).toBeGreaterThanOrEqual(10_000);
  });

  it('of very much are made from a sample and the running totals', async () => {
    const [queue, rare] = [newQueue(), newQueue()];
    const tenant = 'tenant-with-much';
    await server.database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now() + (n % 2) * interval '1 hour', 0, 0, 0, gen_random_uuid(), $1, $2
       FROM generate_series(1, 30000) AS n`,
      [tenant, queue],
    );
    await server.database.query(
      'INSERT INTO millrace.totals (created, completed, failed, cancelled, tenant) VALUES (90000, 0, 50000, 10000, $1)',
      [tenant],
    );
    const token = await new SignJWT({ sub: tenant, exp: Math.floor(Date.now() / 1000) + 600 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(JWT_SECRET));
    const much = server.as(token);
    const { jobs, dead_letters } = await counts(much);
    expect(jobs.pending.n + jobs.scheduled.n).toBe(30_000);
    // About half of each; the sample says how much exactly.
    expect(Math.min(jobs.pending.n, jobs.scheduled.n)).toBeGreaterThan(12_000);
    expect([jobs.pending.exact, jobs.failed.exact, jobs.cancelled.exact]).toEqual([false, false, true]);
    expect(jobs.failed.n).toBe(50_000);
    // The totals say there are many, but a look shows that there are none.
    expect(dead_letters).toEqual({ n: 0, exact: true });
    expect((await counts(much, `?queue=${rare}`)).jobs.pending).toEqual({ n: 0, exact: false });
  });
});

const zeros = (of: Readonly<Record<string, Count>>): Record<string, Count> =>
  Object.fromEntries(Object.keys(of).map((state) => [state, { n: 0, exact: true }]));
