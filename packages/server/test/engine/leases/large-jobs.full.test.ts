import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { bucketOf } from '../../../src/domain/ids.js';
import { loadMigrations, migrate } from '../../../src/store/migrations/migrate.js';
import { emptyDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A, type TestServer, type TestServerOptions } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, createJobs, fail, idsOf, lease, leaseOne, newQueue, stats } from '../kit.js';
import { inTime, LONGEST_WAIT_SECS } from '../waiting.js';

/**
 * Jobs that are large, each for itself within its limits, and together more than a process could hold or a string be
 * long. A claim brings about 8 MiB of them to a lease and 32 MiB to the pool, but always one.
 */
const MIB = 1024 * 1024;

/** The database as a program left it that knew nothing of sizes, with so many jobs of one payload. */
async function storedBefore(queue: string, count: number, payload: string): Promise<TestDatabase> {
  const database = await emptyDatabase();
  onTestFinished(() => database.drop());
  await database.query('CREATE SCHEMA millrace');
  await database.query(`CREATE TABLE millrace.migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const { version, name, sql } of loadMigrations().slice(0, 3)) {
    await database.query(sql);
    await database.query('INSERT INTO millrace.migrations (version, name) VALUES ($1, $2)', [version, name]);
  }
  await database.query('INSERT INTO millrace.tenants (tenant, bucket) VALUES ($1, $2)', [TENANT_A, bucketOf(TENANT_A)]);
  const suffix = `lpad(to_hex(32768 + n), 4, '0') || '${bucketOf(TENANT_A).toString(16).padStart(4, '0')}00000000'`;
  await database.query(
    `WITH job AS (
       INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
       SELECT now(), 0, (millrace.id_prefix(now()) || ${suffix})::uuid, '${TENANT_A}', $1, 'measure', ${payload}
       FROM generate_series(1, $2::int) AS n RETURNING *
     )
     INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
     SELECT created_at, 0, 0, 0, id, tenant, queue FROM job`,
    [queue, count],
  );
  await migrate(database.url);
  return database;
}

async function serverFor(options: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** All answers to leases of a hundred until there is nothing left: how many jobs came in each. */
async function leaseAll({ worker }: TestServer, queue: string): Promise<{ ids: Set<string>; sizes: number[] }> {
  const ids = new Set<string>();
  const sizes: number[] = [];
  for (;;) {
    const jobs = await lease(worker, queue, { max_jobs: 100, lease_secs: 600 });
    if (jobs.length === 0) return { ids, sizes };
    sizes.push(jobs.length);
    for (const id of idsOf(jobs)) ids.add(id);
  }
}

describe('large jobs', () => {
  it('are leased a few at a time, also those that were stored before sizes were counted', async () => {
    const queue = newQueue();
    const database = await storedBefore(queue, 7, `json_build_object('s', repeat('x', ${3 * MIB}))`);
    const server = await serverFor({ database, config: { mode: 'api' } });
    const { ids, sizes } = await leaseAll(server, queue);
    expect(ids.size).toBe(7);
    expect(sizes).toEqual([2, 2, 2, 1]);
  });

  it('come one by one when each is all that an answer holds, whatever they are full of', async () => {
    const queue = newQueue();
    const quotes = `('{"s":"' || repeat('\\"', ${8 * MIB - 8}) || '"}')::json`;
    const database = await storedBefore(queue, 3, quotes);
    const server = await serverFor({ database, config: { mode: 'api', maxBodyBytes: 20 * MIB } });
    const { ids, sizes } = await leaseAll(server, queue);
    expect(ids.size).toBe(3);
    expect(sizes).toEqual([1, 1, 1]);
  });

  it('all run in the pool', async () => {
    const quotes = `('{"s":"' || repeat('\\"', ${8 * MIB - 8}) || '"}')::json`;
    const database = await storedBefore('default', 3, quotes);
    const lengths: number[] = [];
    const server = await serverFor({
      database,
      handlers: { measure: (_payload, { job }) => ({ n: lengths.push(job.payloadText.length) }) },
    });
    await until(async () => (await stats(server.a)).jobs_completed === 3, { what: 'three jobs' });
    expect(lengths).toEqual(Array.from({ length: 3 }, () => 16 * MIB - 8));
  });

  describe('that are created here', async () => {
    const server = await startTestServer({
      config: { mode: 'api', maxBodyBytes: 20 * MIB, maxPayloadBytes: 16 * MIB },
    });
    const { a, b, worker, database } = server;
    const text = 'x'.repeat(9 * MIB);
    afterAll(() => server.stop());

    it.each([
      ['their payload', { payload: { text } }],
      ['their metadata', { metadata: { text } }],
    ])('count by %s', async (_what, fields) => {
      const queue = newQueue();
      for (let n = 0; n < 2; n++) await createJob(a, queue, fields);
      const first = await lease(worker, queue, { max_jobs: 10 });
      expect(first).toHaveLength(1);
      expect(await lease(worker, queue, { max_jobs: 10 })).toHaveLength(1);
      expect(await lease(worker, queue, { max_jobs: 10 })).toHaveLength(0);
    });

    it('count by bytes, not by characters', async () => {
      const queue = newQueue();
      for (let n = 0; n < 2; n++) await createJob(a, queue, { payload: { text: '€'.repeat(3 * MIB) } });
      expect(await lease(worker, queue, { max_jobs: 10 })).toHaveLength(1);
    });

    it('count after a retry and a replay, under a key and in a batch', async () => {
      const queue = newQueue();
      await createJob(a, queue, { payload: { text }, config: { backoff_base_secs: 0 } });
      await fail(worker, await leaseOne(worker, queue));
      const dead = await createJob(a, queue, { payload: { text }, config: { priority: 9 } });
      await fail(worker, await leaseOne(worker, queue), { retryable: false });
      const [letter] = (await a.get('/api/v1/dlq?limit=1')).body.dead_letters as { id: number; job_id: string }[];
      expect(letter!.job_id).toBe(dead);
      expect((await a.post(`/api/v1/dlq/${letter!.id}/replay`)).status).toBe(201);
      const job = { task_name: 'task', payload: { text }, config: { queue } };
      expect((await a.post('/api/v1/jobs', job, { 'idempotency-key': 'large' })).status).toBe(201);
      expect((await a.post('/api/v1/jobs/batch', { jobs: [job] })).status).toBe(201);
      const sizes = await database.query<{ size: number }>('SELECT size FROM millrace.ready WHERE queue = $1', [queue]);
      expect(sizes.map(({ size }) => size > 9 * MIB)).toEqual([true, true, true, true]);
    });

    it('reach every caller that waits, though one claim does not bring enough for all', async () => {
      await inTime(LONGEST_WAIT_SECS, async () => {
        const queue = newQueue();
        const wait = { max_jobs: 10, wait_secs: LONGEST_WAIT_SECS };
        const callers = [1, 2, 3].map(() => lease(worker, queue, wait));
        const ids: string[] = [];
        for (let n = 0; n < 3; n++) ids.push(await createJob(a, queue, { payload: { text } }));
        const answers = await Promise.all(callers);
        expect(answers.map((jobs) => jobs.length)).toEqual([1, 1, 1]);
        expect(answers.flatMap(idsOf).sort()).toEqual(ids.sort());
      });
    });

    it('do not hold up small ones behind them', async () => {
      const queue = newQueue();
      for (let n = 0; n < 3; n++) await createJob(a, queue, { payload: { text }, config: { priority: 1 } });
      const small = await createJobs(b, queue, 50);
      const got: string[] = [];
      while (got.length < 53) {
        const jobs = await lease(worker, queue, { max_jobs: 100 });
        expect(jobs.length).toBeGreaterThan(0);
        got.push(...idsOf(jobs));
      }
      expect(got.slice(3)).toEqual(small);
    });
  });
});
