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

  /** Jobs per second of a pool that starts with all of them waiting, from its first claim on. */
  async function drainRate(queue: string, url: string): Promise<number> {
    await createMany(api.a, JOBS, queue, 'echo');
    const pool = await startAnotherServer({ ...database, url }, { mode: 'worker', defaultQueue: queue });
    const completed = `status = 'completed' AND id IN (SELECT id FROM millrace.jobs WHERE queue = '${queue}')`;
    await until(async () => (await count(database, 'millrace.done', completed)) === JOBS, {
      what: 'the queue to be drained',
    });
    await pool.stop();
    const [row] = await database.query<{ secs: number }>(
      `SELECT extract(epoch FROM max(completed_at) - min(started_at))::float8 AS secs
       FROM millrace.done WHERE ${completed}`,
    );
    return JOBS / row!.secs;
  }

  it('keeps a good part of its rate when a claim takes 100 ms', async () => {
    const proxy = await startProxy(database.url);
    proxy.slow(() => 50);
    await drainRate('warming up', database.url);
    const near = await drainRate('near', database.url);
    // The better of two: a moment in which the machine stands still makes either slower, and neither faster.
    const far = Math.max(await drainRate('far', proxy.url), await drainRate('far again', proxy.url));
    await proxy.close();
    expect(far / near).toBeGreaterThan(0.15);
  });
});
