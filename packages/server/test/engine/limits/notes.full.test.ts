import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { inspect } from '../../../src/store/migrations/inspect.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { complete, createJob, createJobs, idsOf, lease, leaseOne, newQueue, SWEEP_OFTEN } from '../kit.js';
import { leaseNext } from '../waiting.js';

/** What processes leave behind for others to find: notes about limits, and limits that count what has ended. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' }, intervals: SWEEP_OFTEN });
const { a, worker } = server;
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const notes = async (): Promise<number> => {
  const [row] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM millrace.limit_notes');
  return row!.n;
};
/** Ends jobs as a process does that knows nothing of limits. */
const endUnnoticed = (ids: readonly string[]): Promise<unknown> =>
  database.query(
    `WITH gone AS (DELETE FROM millrace.leases WHERE id = ANY ($1) RETURNING *)
     INSERT INTO millrace.done (completed_at, started_at, retry_count, delivery_count, status, id, tenant, result)
     SELECT now(), started_at, 0, 1, 'completed', id, tenant, '{}' FROM gone`,
    [ids],
  );

describe('notes', () => {
  it('about a limit that no job names any more go, however many there are', async () => {
    const id = await createJob(a, newQueue());
    await database.query(
      `INSERT INTO millrace.limit_notes (given_back, limit_id, job_id, tenant)
       SELECT 0, ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2
       FROM generate_series(1, 1100) AS n`,
      [id, TENANT_A],
    );
    await until(async () => (await notes()) === 0 || `${await notes()} are left`, { what: 'all notes to go' });
  });

  it('are found behind a thousand others that nobody can act on', async () => {
    const queue = newQueue();
    const [, waiting] = await createJobs(a, queue, 2, { limits: [{ key: 'k', running: 1 }] });
    const { job } = await leaseOne(worker, queue, { lease_secs: 3_600 });
    const others = `id < '00000000-0000-0001-0000-000000000000'`;
    await database.query(
      `INSERT INTO millrace.limits (most, id, tenant, queue, key)
       SELECT 1, ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid, '', '', n::text
       FROM generate_series(1, 1001) AS n`,
    );
    const holder = new pg.Client({ connectionString: database.url, application_name: 'test kit' });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query(`SELECT FROM millrace.limits WHERE ${others} FOR UPDATE`);
    await database.query(
      `INSERT INTO millrace.limit_notes (given_back, limit_id) SELECT 0, id FROM millrace.limits WHERE ${others}`,
    );
    await endUnnoticed([job.id]);
    await database.query(
      `INSERT INTO millrace.limit_notes (given_back, limit_id)
       SELECT 1, limits[1] FROM millrace.jobs WHERE id = $1`,
      [job.id],
    );
    const next = await leaseNext(worker, queue);
    expect(next.job.id).toBe(waiting);
    await complete(worker, next);
    await holder.query('ROLLBACK');
    await holder.end();
    await until(async () => (await notes()) === 0);
    await database.query(`DELETE FROM millrace.limits WHERE ${others}`);
  });
});

describe('limits that count what has ended', () => {
  it('are all counted anew by one round, however many there are', async () => {
    const queue = newQueue();
    const keys = Array.from({ length: 130 }, (_, n) => `k${n}`);
    const jobs = keys.flatMap((key) => {
      const job = { task_name: 'task', config: { queue, limits: [{ key, running: 1 }] } };
      return [job, job];
    });
    expect((await a.post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
    const next = async (): Promise<string[]> => {
      const ids: string[] = [];
      while (ids.length < keys.length)
        ids.push(...idsOf(await lease(worker, queue, { max_jobs: 200, wait_secs: 60, lease_secs: 3_600 })));
      return ids;
    };
    await endUnnoticed(await next());
    await database.query(`UPDATE millrace.loops SET last_run_at = '-infinity' WHERE name = 'limits'`);
    const other = await startAnotherServer(database, { mode: 'api' });
    expect(await next()).toHaveLength(keys.length);
    await other.stop();
    expect((await inspect(database.url)).checks.filter(({ violations }) => violations > 0)).toEqual([]);
  });
});

describe('unique keys', () => {
  it('of ended jobs go, however many others there are', async () => {
    const live = await createJob(a, newQueue());
    await database.query(
      `INSERT INTO millrace.unique_keys (id, job_id, tenant)
       SELECT ('00000000-0000-0000-0000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2 FROM generate_series(1, 20500) AS n
       UNION ALL SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff', gen_random_uuid(), $2`,
      [live, TENANT_A],
    );
    const ended = `SELECT FROM millrace.unique_keys WHERE job_id <> $1`;
    await until(async () => (await database.query(ended, [live])).length === 0, { what: 'the key to go' });
    expect(await database.query('SELECT FROM millrace.unique_keys')).toHaveLength(20_500);
    await database.query('DELETE FROM millrace.unique_keys');
  });
});
