import type { Series } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import type { Client } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, useTestServer, type TestServer } from '../../support/server.js';
import { cancel, complete, createJob, fail, inSeconds, lease, leaseOne, newQueue } from '../kit.js';

const HOUR_MS = 3_600_000;

const sum = (column: readonly (number | null)[]): number => column.reduce<number>((total, n) => total + (n ?? 0), 0);

async function plot(client: Client, query = ''): Promise<Series> {
  const reply = await client.get(`/api/v1/series${query}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body as Series;
}

/** The four counts, added up over the plot. */
async function totals(client: Client, query = ''): Promise<Record<string, number>> {
  const { created, completed, failed, retried } = (await plot(client, query)).columns;
  return { created: sum(created), completed: sum(completed), failed: sum(failed), retried: sum(retried) };
}

describe('series', async () => {
  const asked = await useTestServer({ config: { mode: 'api' } });
  const { a, b } = asked;

  /** On another server, which writes what it did when it stops. */
  async function elsewhere(work: (server: TestServer) => Promise<void>): Promise<void> {
    const server = await startTestServer({ config: { mode: 'api' }, database: asked.database });
    await work(server);
    await server.stop();
  }

  it('tell what was created, completed, failed and retried, and how long it waited and ran', async () => {
    const queue = newQueue();
    await elsewhere(async ({ a, worker }) => {
      for (let n = 0; n < 4; n++) await createJob(a, queue, { task_name: `task-${n % 2}` });
      const [first, second, third, fourth] = await lease(worker, queue, { max_jobs: 4 });
      await complete(worker, first!);
      await complete(worker, second!);
      await fail(worker, third!, { retryable: false });
      await fail(worker, fourth!);
    });
    expect(await totals(a, `?queue=${queue}`)).toEqual({ created: 4, completed: 2, failed: 1, retried: 1 });
    expect(await totals(a, `?queue=${queue}&task=task-0`)).toEqual({ created: 2, completed: 1, failed: 1, retried: 0 });
    expect(await totals(a, '?task=task-1')).toEqual({ created: 2, completed: 1, failed: 0, retried: 1 });

    const { columns } = await plot(a, `?queue=${queue}`);
    const { completed, failed, retried } = columns;
    const ended = completed.map((n, step) => n + failed[step]! + retried[step]! > 0);
    for (const name of ['wait_p50', 'wait_p95', 'wait_p99', 'run_p50', 'run_p95', 'run_p99'] as const) {
      expect(columns[name]).toHaveLength(columns.created.length);
      const happened = columns[name].map((seconds) => seconds !== null);
      // All were leased at once, and may have ended in more than one step.
      if (name.startsWith('wait')) expect(happened.filter(Boolean)).toHaveLength(1);
      else expect(happened).toEqual(ended);
    }
    expect(sum(columns.wait_p50)).toBeLessThanOrEqual(sum(columns.wait_p99));
  });

  it('add up what several processes did', async () => {
    const queue = newQueue();
    for (let process = 0; process < 2; process++) {
      await elsewhere(async ({ a }) => {
        await createJob(a, queue);
      });
    }
    expect(await totals(a, `?queue=${queue}`)).toMatchObject({ created: 2 });
  });

  it('are those of the caller alone', async () => {
    const queue = newQueue();
    const before = await totals(b);
    await elsewhere(async ({ a }) => {
      await createJob(a, queue, { task_name: 'secret' });
    });
    expect(await totals(b)).toEqual(before);
    expect(await totals(b, `?queue=${queue}`)).toMatchObject({ created: 0 });
    expect(await totals(b, '?task=secret')).toMatchObject({ created: 0 });
  });

  it.each([
    ['the last hour', '', 15, 240],
    ['two hours ago', `?from=${new Date(Date.now() - 2 * HOUR_MS).toISOString()}`, 300, 24],
    ['three days ago', `?from=${new Date(Date.now() - 72 * HOUR_MS).toISOString()}`, 3_600, 72],
    ['a year ago', `?from=${new Date(Date.now() - 8_760 * HOUR_MS).toISOString()}`, 3_600, 1_440],
  ])('from %s have the finest steps that are kept', async (_since, query, step, length) => {
    const series = await plot(a, query);
    expect(series.step_secs).toBe(step);
    expect(series.columns.created.length).toBeGreaterThanOrEqual(length);
    expect(series.columns.created.length).toBeLessThanOrEqual(length + 2);
    expect(Date.parse(series.from) % (step * 1000)).toBe(0);
  });

  it('refuse a plot that ends before it begins', async () => {
    const reply = await a.get(`/api/v1/series?from=${inSeconds(0)}&to=${inSeconds(-60)}`);
    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ details: [{ path: 'from', message: 'must not be after to' }] });
  });

  it('count a cancellation in none of the four', async () => {
    const queue = newQueue();
    await elsewhere(async ({ a }) => {
      await cancel(a, await createJob(a, queue));
    });
    expect(await totals(a, `?queue=${queue}`)).toEqual({ created: 1, completed: 0, failed: 0, retried: 0 });
  });

  it('are a hundred at most; the rest is under other, and the sum is right', async () => {
    const queue = newQueue();
    const before = await totals(a);
    await elsewhere(async ({ a }) => {
      const jobs = Array.from({ length: 150 }, (_, n) => ({ task_name: `many-${n}`, config: { queue } }));
      expect((await a.post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
    });
    expect((await totals(a)).created).toBe(before.created! + 150);
    const own = (await totals(a, `?queue=${queue}`)).created!;
    const other = (await totals(a, '?queue=other')).created!;
    expect(own).toBeLessThan(100);
    expect(own + other).toBe(150);
  });
});

describe('waiting', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());
  const clock = await controlClock(database);
  const asked = await useTestServer({ config: { mode: 'api' }, database });

  it('counts from when a job was due, existed and was not held by an attempt before', async () => {
    const [past, released] = [newQueue(), newQueue()];
    const server = await startTestServer({ config: { mode: 'api' }, database });
    await createJob(server.a, past, { run_at: '2020-01-01T00:00:00Z' });
    await lease(server.worker, past);
    await createJob(server.a, released);
    await clock.advance(600);
    const held = await leaseOne(server.worker, released);
    await clock.advance(60);
    const { lease_token } = held;
    expect((await server.worker.post(`/api/v1/jobs/${held.job.id}/release`, { lease_token })).status).toBe(204);
    await clock.advance(60);
    await lease(server.worker, released);
    await server.stop();
    /** The shortest and the longest of the plot, in whichever steps they were counted. */
    const waits = async (queue: string): Promise<number[]> => {
      const { wait_p50: half, wait_p99: most } = (await plot(asked.a, `?queue=${queue}`)).columns;
      return [Math.min(...half.map((secs) => secs ?? Infinity)), Math.max(...most.map((secs) => secs ?? 0))];
    };
    expect((await waits(past))[1]).toBeLessThan(600);
    const [again, first] = await waits(released);
    expect(first).toBeGreaterThan(500);
    expect(again).toBeLessThan(200);
  });
});
