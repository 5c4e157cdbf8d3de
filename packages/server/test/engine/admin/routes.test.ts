import type { AdminOverview, AdminQueue, AdminTenant } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { bucketOf } from '../../../src/domain/ids.js';
import { VERSION } from '../../../src/version.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A, TENANT_B } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { createClient } from '../../support/client.js';
import { complete, createJob, createJobs, fail, lease, leaseOne, newQueue } from '../kit.js';

const READS = ['overview', 'queues', 'tenants', 'workers'].map((what) => `/api/v1/admin/${what}`);
const WRITES = ['pause', 'resume'].map((what) => `/api/v1/admin/queues/some/${what}`);

describe('the routes of operators', async () => {
  const database = await cloneDatabase();
  const readKeys = new Map([['a-key-that-may-only-read', TENANT_A]]);
  // What has ended long ago stays: the turn of retention is taken for ever.
  await database.query(`INSERT INTO millrace.loops (name, last_run_at) VALUES ('retention', 'infinity')`);
  const server = await startTestServer({ database, config: { mode: 'api', readKeys, retentionHours: 1 } });
  const { a, b, worker, admin, nobody } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });
  /** Where rows are put that no tenant has created. */
  const home = database.homeOf(TENANT_A);
  const overview = async (): Promise<AdminOverview> =>
    (await admin.get('/api/v1/admin/overview')).body as AdminOverview;
  const queues = async (): Promise<AdminQueue[]> =>
    (await admin.get('/api/v1/admin/queues')).body.queues as AdminQueue[];

  describe('take the admin token only', () => {
    it.each([...READS.map((path) => ['GET', path]), ...WRITES.map((path) => ['POST', path])])(
      '%s %s',
      async (method, path) => {
        const statusFor = async (client: typeof a): Promise<number> => (await client.send(method, path)).status;
        expect(await statusFor(admin)).toBe(method === 'GET' ? 200 : 204);
        for (const other of [a, worker, server.as('a-key-that-may-only-read')])
          expect(await statusFor(other)).toBe(403);
        for (const other of [nobody, server.as('wrong')]) expect(await statusFor(other)).toBe(401);
      },
    );

    it('which is none on the routes of tenants and workers', async () => {
      for (const [method, path] of [
        ['GET', '/api/v1/jobs'],
        ['POST', '/api/v1/jobs'],
        ['GET', '/api/v1/queues'],
        ['POST', '/api/v1/queues/q/lease'],
        ['POST', '/api/v1/reports'],
      ]) {
        const { status, body } = await admin.send(method!, path!, { ...(method === 'POST' && { body: {} }) });
        expect([status, body.code], path).toEqual([401, 'unauthorized']);
      }
      expect((await admin.get('/api/v1/whoami')).body).toMatchObject({ kind: 'admin', tenant_id: null });
      expect((await admin.send('DELETE', '/api/v1/admin/overview')).status).toBe(405);
      expect((await a.send('DELETE', '/api/v1/admin/overview')).status).toBe(403);
    });
  });

  it('do not exist without an admin token, and are open to every token with --dev', async () => {
    const without = await startAnotherServer(database, { mode: 'api', adminToken: null });
    const dev = await startAnotherServer(database, { mode: 'api', adminToken: null, dev: true });
    const of = (url: string | null, token: string | null) => createClient(url!, token);
    for (const [method, path] of [...READS.map((each) => ['GET', each]), ...WRITES.map((each) => ['POST', each])]) {
      const { apiUrl } = without;
      expect((await createClient(apiUrl!, 'key-of-tenant-a-5f1c').send(method!, path!)).status).toBe(404);
      expect((await of(apiUrl, null).send(method!, path!)).status).toBe(401);
      expect((await of(dev.apiUrl, 'anything').send(method!, path!)).status).toBe(method === 'GET' ? 200 : 204);
      expect((await of(dev.apiUrl, null).send(method!, path!)).status).toBe(401);
    }
    await Promise.all([without.stop(), dev.stop()]);
  });

  it('count what all tenants hold', async () => {
    const [before, begunAt] = [await overview(), Date.now()];
    const queue = newQueue();
    await createJobs(a, queue, 3);
    await createJob(b, queue);
    await createJob(b, queue, { delay_secs: 3600 });
    await fail(worker, await leaseOne(worker, queue));
    await complete(worker, await leaseOne(worker, queue));
    await lease(worker, queue);
    await admin.post(`/api/v1/admin/queues/${queue}/pause`);
    const after = await overview();
    const grown = (state: keyof AdminOverview['jobs']): number => after.jobs[state].n - before.jobs[state].n;
    expect(
      ['pending', 'scheduled', 'retrying', 'running', 'completed', 'failed'].map((s) => grown(s as never)),
    ).toEqual([1, 1, 1, 1, 1, 0]);
    expect(after.jobs.pending.exact && after.jobs.completed.exact).toBe(true);
    expect(after).toMatchObject({ version: VERSION, queues: before.queues + 1, oldest_past_retention_secs: null });
    expect(after.tenants).toBeGreaterThanOrEqual(2);
    expect(after.oldest_pending_age_secs).toBeGreaterThanOrEqual(0);
    expect(after.paused_queues).toContain(queue);
    expect(Date.parse(after.now)).toBeGreaterThan(begunAt - 60_000);
    expect(Date.parse(after.now)).toBeLessThan(Date.now() + 60_000);
  });

  it('count the same in the overview as in the queues', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2);
    await createJob(b, newQueue(), { delay_secs: 3600 });
    for (const retry_delay_secs of [0, 3600]) {
      const retried = newQueue();
      await createJobs(b, retried, 1, { retry_delay_secs });
      await fail(worker, await leaseOne(worker, retried));
    }
    await lease(worker, queue);
    const [{ jobs, queues: n, oldest_pending_age_secs: oldest }, found] = [await overview(), await queues()];
    const sum = (of: (queue: AdminQueue) => number): number => found.reduce((total, each) => total + of(each), 0);
    expect(jobs.retrying.n).toBeGreaterThanOrEqual(2);
    expect(jobs.pending.n + jobs.scheduled.n + jobs.retrying.n).toBe(sum((q) => q.pending + q.scheduled));
    expect(jobs.retrying.n).toBe(sum((q) => q.retrying));
    expect(jobs.scheduled.n).toBe(sum((q) => q.scheduled - q.retrying_later));
    expect(jobs.running.n).toBe(sum((q) => q.running));
    expect(n).toBe(found.filter((q) => q.pending + q.scheduled + q.running > 0).length);
    const age = Math.max(...found.map((q) => q.oldest_pending_age_secs ?? 0));
    expect(age).toBeGreaterThanOrEqual(oldest!);
    expect(age).toBeLessThanOrEqual((await overview()).oldest_pending_age_secs!);
  });

  it('tell how far the oldest finished job is past its retention', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2);
    const old = await leaseOne(worker, queue);
    await complete(worker, old);
    await complete(worker, await leaseOne(worker, queue));
    expect((await overview()).oldest_past_retention_secs).toBeNull();
    // As if it had been created and completed three hours ago.
    const agedAt = Date.now();
    await database.query(
      `WITH aged AS (
         SELECT (millrace.id_prefix(now() - interval '3 hours') || right(replace($1::text, '-', ''), 16))::uuid AS id
       ), job AS (UPDATE millrace.jobs SET id = aged.id FROM aged WHERE jobs.id = $1::uuid)
       UPDATE millrace.done SET id = aged.id, completed_at = now() - interval '3 hours' FROM aged
       WHERE done.id = $1::uuid`,
      [old.job.id],
    );
    const { oldest_past_retention_secs: secs } = await overview();
    expect(secs).toBeGreaterThanOrEqual(7200);
    expect(secs).toBeLessThan(7300 + (Date.now() - agedAt) / 1000);
    // The page comes without what the database tells if that takes some seconds.
    const measured = await until(async () => {
      const page = await (await fetch(`${server.metricsUrl}/metrics`)).text();
      return /^millrace_oldest_past_retention_seconds (.*)$/m.exec(page);
    });
    expect(Number(measured[1])).toBeGreaterThanOrEqual(7200);
    await database.query(`DELETE FROM millrace.done WHERE completed_at < now() - interval '2 hours'`);
  });

  it('show each queue with the ten tenants that hold most of it', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 2);
    await createJobs(b, queue, 3, { priority: 1 });
    await lease(worker, queue);
    await home.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now(), 0, 0, 0, gen_random_uuid(), 'small-' || lpad(n::text, 2, '0'), $1 FROM generate_series(1, 20) AS n`,
      [queue],
    );
    const found = (await queues()).find((each) => each.queue === queue);
    expect(found).toMatchObject({ pending: 24, running: 1, scheduled: 0, retrying: 0, retrying_later: 0 });
    expect(found?.paused_at).toBeNull();
    expect(found!.tenants.slice(0, 3)).toEqual([
      { tenant_id: TENANT_B, pending: 2, scheduled: 0, retrying: 0, retrying_later: 0, running: 1 },
      { tenant_id: TENANT_A, pending: 2, scheduled: 0, retrying: 0, retrying_later: 0, running: 0 },
      { tenant_id: 'small-01', pending: 1, scheduled: 0, retrying: 0, retrying_later: 0, running: 0 },
    ]);
    expect(found!.tenants).toHaveLength(10);
    expect(found!.last_lease_at).toEqual(expect.any(String));
    await database.query('DELETE FROM millrace.ready WHERE tenant LIKE $1', ['small-%']);
  });

  it('show a paused queue that holds nothing, and no more than a thousand queues, by name', async () => {
    await admin.post('/api/v1/admin/queues/zzz-empty/pause');
    await database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now(), 0, 0, 0, gen_random_uuid(), 'many', 'many-' || n FROM generate_series(1, 1100) AS n`,
    );
    const found = await queues();
    expect(found).toHaveLength(1000);
    expect(found.at(-1)).toMatchObject({ queue: 'zzz-empty', pending: 0, tenants: [], paused_at: expect.any(String) });
    expect(found.map(({ queue }) => queue)).toEqual(found.map(({ queue }) => queue).sort());
    await database.query('DELETE FROM millrace.ready WHERE tenant = $1', ['many']);
    await admin.post('/api/v1/admin/queues/zzz-empty/resume');
    expect((await queues()).map(({ queue }) => queue)).not.toContain('zzz-empty');
  });

  it('page through tenants in the order of their names', async () => {
    await home.query(
      `INSERT INTO millrace.tenants (tenant, bucket) SELECT 'page-' || lpad(n::text, 3, '0'), $1
       FROM generate_series(1, 120) AS n`,
      [bucketOf(TENANT_A)],
    );
    const queue = newQueue();
    await createJobs(b, queue, 2);
    await lease(worker, queue);
    const all: AdminTenant[] = [];
    for (let cursor = '', pages = 1; ; pages++) {
      const { body } = await admin.get(`/api/v1/admin/tenants?limit=50${cursor}`);
      all.push(...(body.tenants as AdminTenant[]));
      if (!body.has_more) {
        expect(pages).toBeGreaterThanOrEqual(3);
        break;
      }
      expect(body.tenants).toHaveLength(50);
      cursor = `&cursor=${body.next_cursor}`;
    }
    const names = all.map(({ tenant_id: name }) => name);
    expect(names).toEqual([...new Set(names)].sort());
    expect(names).toEqual(expect.arrayContaining([TENANT_A, TENANT_B, 'page-001', 'page-120']));
    const { pending, running } = all.find(({ tenant_id: name }) => name === TENANT_B)!;
    expect(pending).toBeGreaterThanOrEqual(1);
    expect(running).toBeGreaterThanOrEqual(1);
    expect((await admin.get('/api/v1/admin/tenants?cursor=nonsense')).status).toBe(400);
    expect((await admin.get('/api/v1/admin/tenants?limit=1000')).body.warnings).toHaveLength(1);
  });

  it('answer 304 while nothing has changed', async () => {
    await database.query('TRUNCATE millrace.ready');
    for (const path of READS) {
      // What this process has seen of workers moves by a hair when it is written.
      await until(
        async () => {
          const tag = (await admin.get(path)).headers.get('etag') ?? '';
          return tag.startsWith('W/') && (await admin.get(path, { 'if-none-match': tag })).status === 304;
        },
        { what: `${path} to stay the same` },
      );
    }
    await createJob(a, newQueue());
    const { headers } = await admin.get(READS[0]!);
    await createJob(a, newQueue());
    expect((await admin.get(READS[0]!, { 'if-none-match': headers.get('etag')! })).status).toBe(200);
  });

  it('refuse a name that no queue can have', async () => {
    for (const name of ['x'.repeat(256), '%00']) {
      expect((await admin.post(`/api/v1/admin/queues/${name}/pause`)).status).toBe(400);
    }
  });
});
