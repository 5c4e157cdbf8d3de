import { afterAll, describe, expect, it } from 'vitest';
import { EVERY_BUCKET, type BucketRange } from '../../../src/domain/cells.js';
import { bucketOf } from '../../../src/domain/ids.js';
import { abortHandover, handOver } from '../../../src/store/handover/handover.js';
import { cellStatus } from '../../../src/store/handover/status.js';
import { inspect } from '../../../src/store/migrations/inspect.js';
import { complete, createJob, createJobs, fail, lease, newQueue, NO_SWEEPS } from '../../engine/kit.js';
import { asCells } from '../../support/cells.js';
import { cloneDatabase, copyDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A, TENANT_B, type TestServer, type TestServerOptions } from '../../support/server.js';
import { until } from '../../support/until.js';

/** A database gives one of two tenants to a copy of itself. */
const at = Math.max(bucketOf(TENANT_A), bucketOf(TENANT_B));
const keeps: BucketRange = { first: 0, last: at - 1 };
const gives: BucketRange = { first: at, last: EVERY_BUCKET.last };
const [stays, goes] = bucketOf(TENANT_A) < at ? (['a', 'b'] as const) : (['b', 'a'] as const);

const [stops, drops]: (() => Promise<void>)[][] = [[], []];
afterAll(async () => {
  for (const stop of stops!) await stop();
  for (const drop of drops!) await drop();
});
const kept = (database: TestDatabase): TestDatabase => {
  drops!.push(() => database.drop());
  return database;
};

async function serving(options: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  stops!.push(() => server.stop());
  return server;
}

/**
 * What the command does before the copy is promoted. In the moment before, a job of each tenant was noted at a limit
 * that is not made yet, and room was returned that no sweep has seen.
 */
const close = (source: TestDatabase): Promise<unknown> =>
  source.query(`DO $$ BEGIN
    INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
    SELECT DISTINCT ON (tenant) 0, gen_random_uuid(), id, tenant FROM millrace.jobs ORDER BY tenant, id DESC;
    INSERT INTO millrace.limit_returns SELECT DISTINCT tenant, ARRAY[gen_random_uuid()], ARRAY[1] FROM millrace.jobs;
    PERFORM millrace.close_cell(gen_random_uuid(), int4range(0, ${at}), int4range(${at}, 65536));
  END $$`);

const run = (source: TestDatabase, target: TestDatabase, tell: (line: string) => void = () => undefined) =>
  handOver({ sourceUrl: source.url, targetUrl: target.url, keeps, gives, promotes: false, tell });

const statusesOf = (server: TestServer, path: string): Promise<number[]> =>
  Promise.all([server[stays].get(path), server[goes].get(path)].map(async (reply) => (await reply).status));

/** Rows of each tenant in every table that names one. */
async function rowsOf(database: TestDatabase): Promise<ReadonlyMap<string, number>> {
  const tables = await database.query<{ table_name: string }>(
    `SELECT table_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE table_schema = 'millrace' AND column_name = 'tenant' AND table_type = 'BASE TABLE'`,
  );
  const found = new Map<string, number>();
  for (const { table_name: table } of tables)
    for (const { tenant, n } of await database.query<{ tenant: string; n: number }>(
      `SELECT tenant, count(*)::int AS n FROM millrace.${table} GROUP BY tenant`,
    ))
      if ([TENANT_A, TENANT_B].includes(tenant)) found.set(`${table} of ${tenant}`, n);
  return found;
}

async function fill(server: TestServer, queue: string): Promise<void> {
  for (const client of [server.a, server.b]) {
    await createJobs(client, queue, 50);
    const crons = await client.post('/api/v1/cron', { name: 'nightly', cron_expr: '0 3 * * *', task_name: 'task' });
    expect(crons.status, crons.text).toBe(201);
    await createJob(client, `${queue}-limited`, { config: { limits: [{ key: 'k', running: 1 }] } });
    const flow = await client.post('/api/v1/workflows', {
      name: 'flow',
      steps: [
        { name: 'one', task_name: 'task' },
        { name: 'two', task_name: 'task', depends_on: ['one'] },
      ],
    });
    expect(flow.status, flow.text).toBe(201);
  }
  const some = await lease(server.worker, queue, { max_jobs: 8 });
  for (const [n, leased] of some.entries()) {
    const { status } = await (n % 2 === 0 ? complete : fail)(server.worker, leased, {});
    expect(status).toBe(204);
  }
}

describe('a database that gives tenants to a copy', () => {
  it('loses nothing, keeps nobody else, and refuses whoever does not know', async () => {
    const source = kept(await cloneDatabase());
    const old = await serving({ config: { mode: 'api' }, database: source, intervals: NO_SWEEPS });
    const queue = newQueue();
    await fill(old, queue);
    const ids = [await createJob(old[stays], `${queue}-held`), await createJob(old[goes], `${queue}-held`)];
    const held = await lease(old.worker, `${queue}-held`, { max_jobs: 2 });
    expect(held.map(({ job }) => job.id).sort()).toEqual([...ids].sort());

    await close(source);
    const before = await rowsOf(source);
    const refused = await old[stays].post('/api/v1/jobs', { task_name: 'task' });
    expect(refused.status).toBe(503);
    const target = kept(await copyDatabase(source));
    await run(source, target);

    const [mine, others] = [await rowsOf(source), await rowsOf(target)];
    const tenants = stays === 'a' ? [TENANT_A, TENANT_B] : [TENANT_B, TENANT_A];
    const of = (rows: ReadonlyMap<string, number>, tenant: string) =>
      [...rows].filter(([k]) => k.endsWith(tenant)).sort();
    expect([...mine].sort()).toEqual(of(before, tenants[0]!));
    expect([...others].sort()).toEqual(of(before, tenants[1]!));
    for (const { url } of [source, target])
      expect((await inspect(url)).checks.filter(({ violations }) => violations > 0)).toEqual([]);

    // It still believes that all tenants are here. Each new connection finds out.
    expect(await statusesOf(old, '/api/v1/jobs')).toEqual([503, 503]);
    await old.stop();
    await expect(
      source.query(
        `INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
         VALUES (now(), 0, $1, $2, 'q', 'task', '{}')`,
        [ids[1], tenants[1]],
      ),
    ).rejects.toThrow(/it was handed over/);

    const cells = asCells([source, target], [keeps, gives]);
    const server = await serving({ config: { mode: 'api' }, database: cells, intervals: NO_SWEEPS });
    const reports = held.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
    const answer = await server.worker.post('/api/v1/reports', { reports });
    expect(answer.body.reports.map(({ ok }: { ok: boolean }) => ok)).toEqual([true, true]);
    expect(await statusesOf(server, '/api/v1/jobs')).toEqual([200, 200]);
    await createJob(server[goes], queue);
    await server.stop();
  });

  it('goes on wherever it was interrupted, and both never hold the same tenants', async () => {
    const source = kept(await cloneDatabase());
    await close(source);
    const target = kept(await copyDatabase(source));
    const seen = new Set<string>();
    for (let interrupted = true, runs = 0; interrupted; runs++) {
      expect(runs).toBeLessThan(20);
      interrupted = false;
      await run(source, target, (line) => {
        if (seen.has(line)) return;
        seen.add(line);
        interrupted = true;
        throw new Error('interrupted');
      }).catch((error: Error) => expect(error.message).toBe('interrupted'));
      const open = await Promise.all([source, target].map(({ url }) => cellStatus(url)));
      const ranges = open.flatMap(({ state, range }) => (state === 'open' ? [range!] : []));
      expect([[], [keeps], [gives], [keeps, gives]]).toContainEqual(ranges);
    }
    expect(seen.size).toBeGreaterThan(3);
    expect((await cellStatus(source.url)).range).toEqual(keeps);
    expect((await cellStatus(target.url)).range).toEqual(gives);
    await expect(abortHandover(source.url)).rejects.toThrow('no handover of this cell is under way');
  });

  it('can be called off until a part is taken, and then no copy ever opens', async () => {
    const source = kept(await cloneDatabase());
    const server = await serving({ config: { mode: 'api' }, database: source, intervals: NO_SWEEPS });
    await close(source);
    const target = kept(await copyDatabase(source));
    await abortHandover(source.url);
    await until(async () => (await server.a.post('/api/v1/jobs', { task_name: 'task' })).status === 201);
    await expect(run(source, target)).rejects.toThrow('the target is no standby of the cell');
    expect((await cellStatus(target.url)).state).toBe('closed');
    expect((await cellStatus(source.url)).range).toEqual(EVERY_BUCKET);
    await server.stop();
  });

  it('gives everything away, and is closed for good', async () => {
    const source = kept(await cloneDatabase());
    await source.query('SELECT millrace.close_cell(gen_random_uuid(), NULL, int4range(0, 65536))');
    const target = kept(await copyDatabase(source));
    const move = { sourceUrl: source.url, targetUrl: target.url, keeps: null, gives: EVERY_BUCKET, promotes: false };
    await handOver({ ...move, tell: () => undefined });
    expect((await cellStatus(target.url)).state).toBe('open');
    expect((await cellStatus(source.url)).state).toBe('gone');
    await expect(startTestServer({ database: source })).rejects.toThrow('has handed its tenants over to another one');
    await expect(source.query(`INSERT INTO millrace.tenants VALUES ('t', 1)`)).rejects.toThrow(/this cell is closed/);
    const server = await serving({ config: { mode: 'api' }, database: target });
    await createJob(server.a, newQueue());
    await server.stop();
  });

  it('is left alone by what is no plan for it', async () => {
    const [source, other] = [kept(await cloneDatabase()), kept(await cloneDatabase())];
    await expect(run(source, other)).rejects.toThrow('the target is no standby of the cell');
    const wrong = { sourceUrl: source.url, targetUrl: other.url, promotes: false, tell: () => undefined };
    await expect(handOver({ ...wrong, keeps: { first: 0, last: 9 }, gives: { first: 10, last: 19 } })).rejects.toThrow(
      'the cell holds the buckets 0-65535, and not 0-19',
    );
    await close(source);
    await expect(run(source, source)).rejects.toThrow('both addresses lead to the same database');
    await expect(handOver({ ...wrong, keeps: null, gives: EVERY_BUCKET })).rejects.toThrow('part in another handover');
    await abortHandover(source.url);
  });
});
