import { afterAll, describe, expect, it } from 'vitest';
import { evenRanges } from '../../src/domain/cells.js';
import { bucketOf, bucketOfId } from '../../src/domain/ids.js';
import { complete, createJob, leaseOne, newQueue, type Leased } from '../engine/kit.js';
import { cloneCells } from '../support/cells.js';
import type { Client } from '../support/client.js';
import { readyBody, startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { clientsOf, namesIn } from './kit.js';

/** One service over two databases, each with half of the tenants. */
const database = await cloneCells(2);
const server = await startTestServer({ config: { mode: 'api' }, database });
afterAll(async () => {
  await server.stop();
  await database.drop();
});
const { worker, admin } = server;

const names = namesIn(evenRanges(2));
const tenants = await clientsOf(server, names);

describe('tenants on two databases', () => {
  it('have their jobs in one of them, whose bucket is in the id', async () => {
    const queue = newQueue();
    for (const [n, client] of tenants.entries()) {
      const id = await createJob(client, queue);
      expect(bucketOfId(id)).toBe(bucketOf(names[n]!));
      const found = await Promise.all(
        database.cells.map((cell) => cell.query('SELECT FROM millrace.jobs WHERE id = $1', [id])),
      );
      expect(found.map((rows) => rows.length)).toEqual(n === 0 ? [1, 0] : [0, 1]);
      expect((await client.get(`/api/v1/jobs/${id}`)).body.id).toBe(id);
    }
  });

  it('are told once of each id that names none of their jobs, whichever database it leads to', async () => {
    const suffixes = evenRanges(2).map(({ first }) => first.toString(16).padStart(4, '0'));
    const unknown = suffixes.map((bucket) => `019bd0e5-7c58-7a5f-9c0e-${bucket}9f6a0f8f`);
    for (const client of tenants) {
      const id = await createJob(client, newQueue());
      const ids = [unknown[0], id, unknown[1], unknown[0], unknown[1]?.toUpperCase(), unknown[1]];
      const { body } = await client.post('/api/v1/jobs/wait', { job_ids: ids, wait_secs: 0 });
      expect(body).toEqual({ ended: [], pending: [id], missing: unknown });
    }
  });

  it('are served by one worker, which reports to whichever holds the job', async () => {
    const queue = newQueue();
    const ids = await Promise.all(tenants.map((client) => createJob(client, queue)));
    const leased = [await leaseOne(worker, queue), await leaseOne(worker, queue)];
    expect(leased.map(({ job }) => job.id).sort()).toEqual(ids.sort());
    const reports = leased.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
    const answer = await worker.post('/api/v1/reports', { reports });
    expect(answer.body.reports.map(({ ok }: { ok: boolean }) => ok)).toEqual([true, true]);
    const queues = (await admin.get('/api/v1/admin/queues')).body.queues as { queue: string }[];
    expect(queues.filter((each) => each.queue === queue)).toEqual([]);
  });

  it('have the jobs that a worker holds of all of them named together, and each sees its own', async () => {
    const queue = newQueue();
    const ids = await Promise.all([0, 1, 0, 1].map((n) => createJob(tenants[n]!, queue)));
    const asked = { max_jobs: 4, lease_secs: 3_600, worker_id: 'of-both' };
    const held = (await worker.post(`/api/v1/queues/${queue}/lease`, asked)).body.jobs as Leased[];
    expect(held).toHaveLength(4);
    const shown = async (client: Client, path: string): Promise<any> =>
      (await client.get(path)).body.workers.find((each: any) => each.worker_id === 'of-both');
    const jobsOf = (shownWorker: any): string[] => shownWorker.running_jobs.map((job: any) => job.id).sort();
    const all = await shown(admin, '/api/v1/admin/workers');
    expect([all.running, jobsOf(all)]).toEqual([4, [...ids].sort()]);
    for (const [n, client] of tenants.entries()) {
      const own = await shown(client, '/api/v1/workers');
      expect([own.running, jobsOf(own)]).toEqual([2, [ids[n]!, ids[n + 2]!].sort()]);
    }
    for (const leased of held) expect((await complete(worker, leased)).status).toBe(204);
    const after = await shown(admin, '/api/v1/admin/workers');
    expect(after).toMatchObject({ running: 0, running_jobs: [], completed: 4 });
  });

  it('are claimed in the order of their priorities, whichever database they are in', async () => {
    const queue = newQueue();
    const ids: string[] = [];
    for (let priority = 0; priority < 6; priority++)
      ids.push(await createJob(tenants[priority % 2]!, queue, { config: { priority } }));
    const order: string[] = [];
    for (let n = 0; n < 6; n++) order.push((await leaseOne(worker, queue)).job.id);
    expect(order).toEqual(ids.reverse());
  });

  it('are claimed in that order, though some were created after others were seen', async () => {
    const queue = newQueue();
    const order: string[] = [];
    const ids = new Map<string, number>();
    for (let n = 0; n < 12; n++) {
      const create = async (cell: number, priority: number): Promise<unknown> =>
        ids.set(await createJob(tenants[cell]!, queue, { config: { priority } }), priority);
      await Promise.all([create(n % 2, n), create((n + 1) % 2, 0)]);
      order.push((await leaseOne(worker, queue)).job.id);
    }
    expect(order.map((id) => ids.get(id))).toEqual([...Array(12).keys()]);
  });

  it.each([{ share: 'tenant' }, { running: 2 }, { rate: { count: 2, per_secs: 3_600, burst: 2 } }])(
    'all get their share of a queue with settings (%j), one job at a time',
    async (settings) => {
      const queue = newQueue();
      const set = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body: settings });
      expect(set.status, set.text).toBe(200);
      // Those of the first come first in claim order, and are more.
      for (const n of [0, 0, 0, 0, 1, 1]) await createJob(tenants[n]!, queue, { config: { priority: 1 - n } });
      const taken: number[] = [];
      for (let n = 0; n < 4; n++) taken.push(names.indexOf((await leaseOne(worker, queue)).job.tenant_id));
      expect(taken.sort()).toEqual([0, 0, 1, 1]);
    },
  );

  it('are paused and recorded together, as one thing that an operator did', async () => {
    const [one, two] = [newQueue(), newQueue()];
    for (const queue of [one, two])
      expect((await admin.post(`/api/v1/admin/queues/${queue}/pause`, { reason: 'both' })).status).toBe(204);
    for (const client of tenants)
      expect((await client.get(`/api/v1/queues/${one}`)).body).toMatchObject({
        paused_reason: 'both',
        paused_by: 'admin',
      });
    const page = async (query: string): Promise<any> => (await admin.get(`/api/v1/admin/audit?${query}`)).body;
    const first = await page('limit=1');
    expect(first).toMatchObject({ entries: [{ action: 'pause_queue', target: two }], has_more: true });
    const second = await page(`limit=1&cursor=${encodeURIComponent(first.next_cursor)}`);
    expect(second.entries).toMatchObject([{ action: 'pause_queue', target: one }]);
    expect((await page('limit=100')).entries.filter((entry: any) => entry.target === one)).toHaveLength(1);
    // A read is recorded where the tenant is.
    for (const name of names) expect((await admin.get('/api/v1/jobs', { 'millrace-tenant': name })).status).toBe(200);
    const reads = (await page('limit=100')).entries.filter((entry: any) => entry.action === 'read_tenant');
    expect(reads.map((entry: any) => entry.target)).toEqual([...names].reverse());
  });

  it('are limited in each database for itself, and every answer says so', async () => {
    const queue = newQueue();
    const path = `/api/v1/admin/queues/${queue}`;
    const put = async (body: object): Promise<any> => (await admin.send('PUT', path, { body })).body;
    const warnings = [
      'running and rate hold in each of 2 databases for itself: together they allow that many times as much',
    ];
    expect(await put({ running: 1 })).toMatchObject({ running: 1, warnings });
    expect((await admin.get(path)).body).toMatchObject({ running: 1, warnings });
    for (const client of tenants) for (let n = 0; n < 2; n++) await createJob(client, queue);
    const leased = (await worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 10, lease_secs: 3_600 })).body
      .jobs as Leased[];
    expect(leased.map(({ job }) => job.tenant_id).sort()).toEqual([...names].sort());
    const without = await put({ running: null, share: 'tenant' });
    expect(without).toEqual({ queue, running: null, rate: null, share: 'tenant' });
    expect((await admin.get(path)).body).toEqual(without);
  });

  it('are told apart by whoever asks whether the service is ready', async () => {
    const body = await readyBody(server);
    const cells = ['c1', 'c2'].map((name) => ({ name, up: true }));
    expect(body).toEqual({ status: 'ready', cells });
    const other = await until(async () => {
      const reply = await fetch(`${server.metricsUrl}/ready`);
      return reply.status === 200 && ((await reply.json()) as object);
    });
    expect(other).toEqual(body);
  });

  it('are kept out of a service that takes one of them for all there is', async () => {
    const [first] = database.cells;
    await expect(startTestServer({ config: { mode: 'api' }, database: first! })).rejects.toThrow(
      /holds the buckets 0-32767 only: it is one cell of several/,
    );
  });
});
