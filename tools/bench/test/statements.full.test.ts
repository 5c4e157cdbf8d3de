import { inspect } from '@millrace/server';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../packages/server/test/support/database.js';
import { FinishedJobs } from '../src/cases/finished-jobs.js';
import { fillSeries } from '../src/cases/insight.js';
import { insertJobs, registerTenants } from '../src/cases/growth/fill.js';
import { prepareClaim, prepareInsert, RawSession } from '../src/contenders/raw-session.js';
import { RESULT, TENANT } from '../src/work.js';

/** The benchmark runs the service's own statements and fills its tables: its parameters and rows must still fit. */
let database: TestDatabase;
beforeEach(async () => void (database = await cloneDatabase()));
afterEach(() => database.drop());

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  return client;
}

async function findings(): Promise<readonly string[]> {
  const { checks } = await inspect(database.url);
  return checks.filter(({ violations }) => violations > 0).map(({ check }) => check);
}

it('raw sessions insert, claim and settle with the statements of the service', async () => {
  const session = await RawSession.open(database.url);
  const prepared = prepareInsert('raw', 50);
  const prefixes = [await session.insert(prepared), await session.insert(prepared)];
  const ids = prefixes.flatMap((prefix) => prepared.idsAt(prefix)).sort();
  for (const part of [ids.slice(0, 60), ids.slice(60)]) await session.claimAndSettle(prepareClaim('raw', part));
  await session.close();
  const done = await database.query(
    `SELECT id::text, status::text, result FROM millrace.job_records WHERE tenant = $1 ORDER BY id`,
    [TENANT],
  );
  expect(done).toEqual(ids.map((id) => ({ id, status: 'completed', result: RESULT })));
  expect(await database.query('SELECT FROM millrace.bundles UNION ALL SELECT FROM millrace.ready')).toEqual([]);
  expect(await findings()).toEqual([]);
});

it('a history of finished jobs is one that the service could have written', async () => {
  const finished = new FinishedJobs({ connect }, 400);
  await finished.growTo(100);
  await finished.growTo(400);
  const counts = await database.query(
    `SELECT status::text, count(*)::int AS n FROM millrace.job_records GROUP BY 1 ORDER BY 1`,
  );
  expect(counts).toEqual([
    { status: 'cancelled', n: 20 },
    { status: 'completed', n: 360 },
    { status: 'failed', n: 20 },
  ]);
  const [before] = await database.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM millrace.job_records WHERE created_at < $1',
    [finished.instantAt(0.5)],
  );
  expect(before?.n).toBe(200);
  expect(await findings()).toEqual([]);
});

it('counts and series are those of what the tables hold', async () => {
  await new FinishedJobs({ connect }, 400).growTo(400);
  await fillSeries(database);
  await fillSeries(database);
  const [totals] = await database.query('SELECT created, completed, failed, cancelled FROM millrace.totals');
  expect(totals).toEqual({ created: '400', completed: '360', failed: '20', cancelled: '20' });
  const [names] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM millrace.series_names');
  expect(names?.n).toBe(99);
});

it('what growth is measured with is what the service could have written', async () => {
  const rows = { startMs: Date.now() - 60_000, stepMs: 1, queue: 'default', tenants: 3 };
  const old = { ...rows, startMs: Date.now() - 86_400_000 };
  await registerTenants(database, 3);
  await insertJobs({ connect }, 'waiting', { ...rows, count: 30, priorities: 10 });
  await insertJobs({ connect }, 'waiting', { ...old, count: 20, queue: 'other', queues: 4, dueInHours: 72 });
  await insertJobs({ connect }, 'abandoned', { ...old, startMs: old.startMs + 3_600_000, count: 9 });
  await insertJobs({ connect }, 'finished', { ...old, startMs: old.startMs - 3_600_000, count: 12 });
  const counts = await database.query(
    `SELECT status::text, count(*)::int AS n, count(DISTINCT tenant)::int AS tenants FROM millrace.job_records
     GROUP BY 1 ORDER BY 1`,
  );
  expect(counts).toEqual([
    { status: 'completed', n: 12, tenants: 3 },
    { status: 'pending', n: 50, tenants: 3 },
    { status: 'running', n: 9, tenants: 3 },
  ]);
  const waiting = await database.query(
    `SELECT r.later, count(DISTINCT r.queue)::int AS queues, count(DISTINCT r.priority)::int AS priorities,
            bool_and(r.priority = coalesce((j.config->>'priority')::int, 0) AND r.priority = j.priority) AS agree
     FROM millrace.ready r JOIN millrace.jobs j USING (tenant, id) GROUP BY 1 ORDER BY 1`,
  );
  expect(waiting).toEqual([
    { later: true, queues: 4, priorities: 1, agree: true },
    { later: null, queues: 1, priorities: 10, agree: true },
  ]);
  expect(await findings()).toEqual([]);
});
