import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { boolArray, int4Array, textArray, uuidArray } from '../../../src/store/arrays.js';
import { loadStatements } from '../../../src/store/sql.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { blockLimitsOf } from '../blocking.js';
import { complete, createJob, fail, idsOf, lease, newQueue, type Leased } from '../kit.js';
import { leaseSome } from '../waiting.js';

/** A completion passes its room on without the lock of the limit. Everybody else needs it, and here does not get it. */
describe('a limit whose row somebody else holds', async () => {
  const database = await cloneDatabase();
  const server = await startTestServer({ database, config: { workers: 1 } });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const of = (key: string, running: number): object => ({ key, running });
  const withLimits = (...limits: readonly object[]): { config: object } => ({ config: { limits } });
  const next = (queue: string): Promise<Leased[]> => lease(worker, queue, { max_jobs: 10, lease_secs: 3600 });

  it('lets the next one in when one completes, alone or with others', async () => {
    const queue = newQueue();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await createJob(a, queue, withLimits(of('k', 2))));
    const first = await next(queue);
    expect(idsOf(first)).toEqual(ids.slice(0, 2));
    const block = await blockLimitsOf(database, queue);
    await complete(worker, first[1]!);
    const third = await next(queue);
    expect(idsOf(third)).toEqual([ids[2]]);
    const reports = [first[0]!, third[0]!].map(({ job, lease_token }) => ({
      ...{ job_id: job.id, lease_token, outcome: 'completed' },
    }));
    expect((await worker.post('/api/v1/reports', { reports })).status).toBe(200);
    expect(idsOf(await next(queue))).toEqual(ids.slice(3));
    await block.release();
    const { body } = await a.get(`/api/v1/limits?queue=${queue}`);
    expect(body.limits).toMatchObject([{ key: 'k', running: 2, waiting: 0 }]);
  });

  it('lets nobody in who needs another limit too, or when it runs more than it may', async () => {
    for (const last of [withLimits(of('k', 2), of('l', 2)), withLimits(of('k', 1))]) {
      const queue = newQueue();
      for (let n = 0; n < 2; n++) await createJob(a, queue, withLimits(of('k', 2)));
      const waiting = await createJob(a, queue, last);
      const running = await next(queue);
      expect(running).toHaveLength(2);
      const block = await blockLimitsOf(database, queue);
      await complete(worker, running[0]!);
      expect(await next(queue)).toEqual([]);
      await block.release();
      await complete(worker, running[1]!);
      expect(idsOf(await leaseSome(worker, queue))).toEqual([waiting]);
    }
  });

  it('lets nobody in when one fails and will be tried again: that is for whoever holds the limit', async () => {
    const queue = newQueue();
    await createJob(a, queue, { config: { limits: [of('k', 1)], retry_delay_secs: 3600 } });
    const waiting = await createJob(a, queue, withLimits(of('k', 1)));
    const [failing] = await next(queue);
    const block = await blockLimitsOf(database, queue);
    await fail(worker, failing!);
    expect(await next(queue)).toEqual([]);
    await block.release();
    expect(idsOf(await leaseSome(worker, queue))).toEqual([waiting]);
  });

  it('lets nobody in by numbers that a newer job has changed, before its limit knows of them', async () => {
    const rate = { count: 1, per_secs: 3600 };
    for (const newest of [of('k', 1), { ...of('k', 2), rate }]) {
      const queue = newQueue();
      const ids: string[] = [];
      for (let n = 0; n < 3; n++) ids.push(await createJob(a, queue, withLimits(of('k', 2))));
      const running = await next(queue);
      expect(idsOf(running)).toEqual(ids.slice(0, 2));
      const block = await blockLimitsOf(database, queue);
      await createJob(a, queue, withLimits(newest));
      await complete(worker, running[0]!);
      const leased = await next(queue);
      await block.release();
      expect(leased).toEqual([]);
      await complete(worker, running[1]!);
      expect(idsOf(await leaseSome(worker, queue, { max_jobs: 10 }))).toEqual(ids.slice(2));
    }
  });

  it('does not keep a job from its worker that was let in while somebody was about to do the same', async () => {
    const { move_waiting: moveWaiting } = loadStatements('limits/admit.sql');
    const queue = newQueue();
    const id = await createJob(a, queue, withLimits(of('k', 1)));
    const [job] = await database.query<{ limits: string[] }>('SELECT limits FROM millrace.jobs WHERE id = $1', [id]);
    const late = new pg.Client({ connectionString: database.homeOf(id).url, application_name: 'test kit' });
    await late.connect();
    await late.query('BEGIN');
    const jobs = { tenants: textArray([TENANT_A]), ids: uuidArray([id]), places: uuidArray([null]) };
    const rows = { limit_ids: uuidArray([]), running: int4Array([]), mosts: int4Array([]), newest: uuidArray([]) };
    const none = { waiting: boolArray([]), looks: uuidArray([]) };
    const { text, values } = moveWaiting({ ...jobs, lines: uuidArray(job!.limits), ...rows, ...none });
    await late.query(text, [...values]);
    const leased = await next(queue);
    await late.query('ROLLBACK');
    await late.end();
    expect(idsOf(leased)).toEqual([id]);
  });
});
