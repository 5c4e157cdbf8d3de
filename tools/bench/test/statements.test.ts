import { inspect } from '@millrace/server';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cloneDatabase, type TestDatabase } from '../../../packages/server/test/support/database.js';
import { FinishedJobs } from '../src/cases/finished-jobs.js';
import { prepareClaim, prepareInsert, RawSession } from '../src/contenders/raw-session.js';
import { RESULT, TENANT } from '../src/work.js';

/** The benchmark runs the service's own statements and fills its tables: its parameters and rows must still fit. */
let database: TestDatabase;
beforeEach(async () => void (database = await cloneDatabase()));
afterEach(() => database.drop());

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
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    return client;
  };
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
