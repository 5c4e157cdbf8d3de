import { afterAll, describe, expect, it } from 'vitest';
import { startAnotherServer } from '../engine/another-server.js';
import { cloneDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { count, createMany } from './kit.js';

const JOBS = 3_000;

describe('a drain', async () => {
  const database = await cloneDatabase();
  const api = await startTestServer({ database, config: { mode: 'api' } });
  afterAll(async () => {
    await api.stop();
    await database.drop();
  });

  /** Jobs per second of a pool that starts with all of them waiting. */
  async function drainRate(queue: string, url: string): Promise<number> {
    await createMany(api.a, JOBS, queue, 'echo');
    const pool = await startAnotherServer({ ...database, url }, { mode: 'worker', defaultQueue: queue });
    const completed = `status = 'completed' AND id IN (SELECT id FROM millrace.jobs WHERE queue = '${queue}')`;
    const startedAt = performance.now();
    await until(async () => (await count(database, 'millrace.done', completed)) === JOBS, {
      what: 'the queue to be drained',
    });
    const seconds = (performance.now() - startedAt) / 1000;
    await pool.stop();
    return JOBS / seconds;
  }

  it('keeps a good part of its rate when a claim takes 100 ms', async () => {
    const proxy = await startProxy(database.url);
    proxy.slow(() => 50);
    await drainRate('warming up', database.url);
    const near = await drainRate('near', database.url);
    const far = await drainRate('far', proxy.url);
    await proxy.close();
    expect(far / near).toBeGreaterThan(0.15);
  });
});
