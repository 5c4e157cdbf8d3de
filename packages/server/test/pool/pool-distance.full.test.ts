import { afterAll, describe, expect, it } from 'vitest';
import { startAnotherServer } from '../engine/another-server.js';
import { oneDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { count, createMany } from './kit.js';

const JOBS = 3_000;

describe('a drain', async () => {
  const database = await oneDatabase();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  afterAll(async () => {
    await api.stop();
    await database.drop();
  });

  /** How many claims a pool makes that starts with all of them waiting: the jobs of a claim start at one instant. */
  async function claimsOf(queue: string, url: string): Promise<number> {
    await createMany(api.a, JOBS, queue, 'echo');
    const pool = await startAnotherServer({ ...database, url }, { mode: 'worker', defaultQueue: queue });
    const completed = `status = 'completed' AND id IN (SELECT id FROM millrace.jobs WHERE queue = '${queue}')`;
    await until(async () => (await count(database, 'millrace.done', completed)) === JOBS, {
      what: 'the queue to be drained',
    });
    await pool.stop();
    const [row] = await database.query<{ claims: number }>(
      `SELECT count(DISTINCT started_at)::int AS claims FROM millrace.done WHERE ${completed}`,
    );
    return row!.claims;
  }

  it('takes few claims when each of them takes 100 ms', async () => {
    const proxy = await startProxy(database.url);
    proxy.slow(() => 50);
    const claims = await claimsOf('far', proxy.url);
    await proxy.close();
    // It takes nine of up to 500 jobs each. With no more at a time than it has workers, it would be three hundred.
    expect(claims).toBeLessThanOrEqual(30);
  });
});
