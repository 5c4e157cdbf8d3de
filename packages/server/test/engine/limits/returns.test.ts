import { afterAll, describe, expect, it } from 'vitest';
import { inspect } from '../../../src/store/migrations/inspect.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { complete, createJobs, idsOf, lease, newQueue, SWEEP_OFTEN, type Leased } from '../kit.js';

/** Where there is ample room, settlements return it in one row. Here nobody makes notes of it until a test wants it. */
describe('room of which there is plenty', async () => {
  const database = await cloneDatabase();
  const never = { sweepMs: 86_400_000 };
  const server = await startTestServer({ database, config: { mode: 'api' }, intervals: never });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const limits = [{ key: 'k', running: 100 }];
  const take = (queue: string): Promise<Leased[]> => lease(worker, queue, { max_jobs: 200, lease_secs: 3600 });
  const seen = async (queue: string): Promise<unknown> => (await a.get(`/api/v1/limits?queue=${queue}`)).body.limits;
  const violated = async (): Promise<unknown> =>
    (await inspect(database.url)).checks.filter(({ violations }) => violations > 0);
  const sweptUntil = async (condition: () => Promise<boolean>): Promise<void> => {
    const other = await startAnotherServer(database, { mode: 'api' }, {}, SWEEP_OFTEN);
    await until(condition, { what: 'a sweep' });
    await other.stop();
  };
  const report = async (jobs: readonly Leased[]): Promise<void> => {
    const reports = jobs.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
    expect((await worker.post('/api/v1/reports', { reports })).status).toBe(200);
  };

  it('is seen as free at once, and goes to those who come when a sweep has been there', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 50, { limits });
    await report(await take(queue));
    expect(await seen(queue)).toMatchObject([{ key: 'k', running: 0, waiting: 0 }]);
    const ids = await createJobs(a, queue, 100, { limits });
    // The limit itself says of the others until then that they run.
    expect(idsOf(await take(queue))).toEqual(ids.slice(0, 50));
    expect(await seen(queue)).toMatchObject([{ running: 50, waiting: 50 }]);
    expect(await violated()).toEqual([]);
    const rest: string[] = [];
    await sweptUntil(async () => {
      rest.push(...idsOf(await take(queue)));
      return rest.length === 50;
    });
    expect(rest).toEqual(ids.slice(50));
    expect(await seen(queue)).toMatchObject([{ running: 100, waiting: 0 }]);
  });

  it('is not taken twice: never more run than may, whatever has been returned', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 50, { limits });
    const held = await take(queue);
    await report(held.slice(0, 20));
    await complete(worker, held[20]!);
    await createJobs(a, queue, 200, { limits });
    let running = 29;
    await sweptUntil(async () => (running += (await take(queue)).length) >= 100);
    expect(running).toBe(100);
    expect(await take(queue)).toEqual([]);
    expect(await seen(queue)).toMatchObject([{ running: 100, waiting: 129 }]);
    expect(await violated()).toEqual([]);
  });

  it('is not counted as held when limits are counted anew', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3, { limits });
    const [first, second] = await take(queue);
    await report([first!]);
    // As a process does that knows nothing of limits.
    await database.query('DELETE FROM millrace.leases WHERE id = $1', [second!.job.id]);
    await database.query(
      `INSERT INTO millrace.done (completed_at, started_at, retry_count, delivery_count, status, id, tenant, result)
       SELECT now(), now(), 0, 1, 'completed', id, tenant, '{}' FROM millrace.jobs WHERE id = $1`,
      [second!.job.id],
    );
    expect(await seen(queue)).toMatchObject([{ running: 2 }]);
    await database.query(`UPDATE millrace.loops SET last_run_at = '-infinity' WHERE name = 'limits'`);
    await sweptUntil(async () => JSON.stringify(await seen(queue)).includes('"running":1'));
    expect(await violated()).toEqual([]);
  });
});
