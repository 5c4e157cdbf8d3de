import { afterAll, describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/index.js';
import { cloneDatabase } from '../support/database.js';
import { startTestServer, type TestServerOptions } from '../support/server.js';
import { until } from '../support/until.js';
import { blockClaimOf } from '../engine/blocking.js';
import { startAnotherServer } from '../engine/another-server.js';
import * as kit from '../engine/kit.js';
import { cancel, createJob, deadLettersOf, getJob, waitFor } from '../engine/kit.js';

/** Jobs by their id, as the handlers of this file see them come and go. */
const started = new Set<string>();
const aborted = new Map<string, string>();
const letGo = new Map<string, () => void>();

const handlers: Handlers = {
  /** Ends when the test says so or its signal fires. */
  hold: (_payload, { job, signal }) =>
    new Promise((resolve, reject) => {
      started.add(job.id);
      letGo.set(job.id, () => resolve({ held: true }));
      signal.addEventListener('abort', () => {
        aborted.set(job.id, (signal.reason as Error).message);
        reject(signal.reason as Error);
      });
    }),
  /** Minds nothing but the test. */
  stubborn: (_payload, { job }) =>
    new Promise((resolve) => {
      started.add(job.id);
      letGo.set(job.id, () => resolve({ late: true }));
    }),
};

describe('the pool, stopped', async () => {
  const database = await cloneDatabase();
  // Serves the calls and runs nothing; its janitor is there as in any fleet.
  const api = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = api;
  afterAll(async () => {
    for (const end of letGo.values()) end();
    await api.stop();
    await database.drop();
  });
  let queues = 0;
  /** A pool on a queue of its own, so that tests do not take each other's jobs. */
  const startPool = async (config: TestServerOptions['config'] = {}) => {
    const queue = `pool-${++queues}`;
    const pool = await startAnotherServer(
      database,
      { mode: 'worker', workers: 2, defaultQueue: queue, ...config },
      handlers,
    );
    const run = (task_name: string, fields: object = {}) => createJob(a, queue, { task_name, ...fields });
    const holding = async (task_name = 'hold', fields: object = {}): Promise<string> => {
      const id = await run(task_name, fields);
      await until(() => started.has(id), { what: 'the handler to start' });
      return id;
    };
    return { pool, queue, run, holding };
  };

  /**
   * Makes a pool of two workers hold more jobs than it runs; the ids of them all. Fast jobs before them teach it to
   * claim ahead.
   */
  async function claimAhead(queue: string): Promise<string[]> {
    const standing = `
      SELECT count(*) FILTER (WHERE j.task = 'hold' AND l.id IS NOT NULL)::int AS held,
             count(*) FILTER (WHERE j.task = 'echo')::int AS echoes
      FROM millrace.jobs j LEFT JOIN millrace.running l ON l.id = j.id
      WHERE j.queue = $1 AND NOT EXISTS (SELECT FROM millrace.done d WHERE d.tenant = j.tenant AND d.id = j.id)`;
    for (let round = 0; round < 30; round++) {
      const echoes = Array.from({ length: 400 }, () => ({ task_name: 'echo', config: { queue, priority: 1 } }));
      const holds = Array.from({ length: 20 }, () => ({ task_name: 'hold', config: { queue } }));
      const { body } = await a.post('/api/v1/jobs/batch', { jobs: [...echoes, ...holds] });
      const held = (body.job_ids as string[]).slice(400);
      await until(() => held.filter((id) => started.has(id)).length === 2);
      const [row] = await database.query<{ held: number; echoes: number }>(standing, [queue]);
      // Two claims may be under way at once, and the later one come back first: then fast jobs are still in hand.
      if (row!.held > 4 && row!.echoes === 0) return held;
      // Not this time: let them all run through. The last of them may not be the last to start.
      await until(async () => {
        for (const id of held) letGo.get(id)?.();
        const unfinished =
          'SELECT FROM unnest($1::uuid[]) AS given (id) WHERE id NOT IN (SELECT id FROM millrace.done)';
        return (await database.query(unfinished, [held])).length === 0;
      });
    }
    throw new Error('the pool never claimed ahead');
  }

  it('cancelling a job aborts its handler and frees its worker', async () => {
    const { pool, run, holding } = await startPool({ workers: 1 });
    const id = await holding();
    const next = await run('echo');
    expect((await cancel(a, id)).status).toBe(204);
    await until(() => aborted.has(id), { what: 'the handler to be aborted' });
    await waitFor(a, next, 'completed');
    expect(await getJob(a, id)).toMatchObject({ status: 'cancelled', result: null, error_message: null });
    expect(await deadLettersOf(a, id)).toEqual([]);

    const sleeper = await run('sleep', { payload: { seconds: 600 } });
    await waitFor(a, sleeper, 'running');
    await cancel(a, sleeper);
    await waitFor(a, await run('echo'), 'completed');
    await pool.stop();
    expect((await getJob(a, sleeper)).status).toBe('cancelled');
  });

  it('a handler that ends after its job was cancelled changes nothing', async () => {
    const { pool, holding } = await startPool();
    const id = await holding('stubborn');
    await cancel(a, id);
    const cancelled = await getJob(a, id);
    letGo.get(id)!();
    await pool.stop();
    expect(await getJob(a, id)).toEqual(cancelled);
  });

  it('a handler that minds no signal is left behind at its timeout', async () => {
    const { pool, holding, run } = await startPool({ workers: 1 });
    const id = await holding('stubborn', { config: { timeout: 1, max_retries: 0 } });
    const next = await run('echo');
    expect(await waitFor(a, id, 'failed')).toMatchObject({ error_message: 'timed out after 1 s' });
    await waitFor(a, next, 'completed');
    letGo.get(id)!();
    await pool.stop();
    expect(await getJob(a, id)).toMatchObject({ status: 'failed', result: null });
  });

  it('lets handlers finish that do so in time', async () => {
    const { pool, holding } = await startPool();
    const id = await holding();
    const stopped = pool.stop();
    expect((await getJob(a, id)).status).toBe('running');
    letGo.get(id)!();
    await stopped;
    expect(await getJob(a, id)).toMatchObject({ status: 'completed', result: { held: true } });
    expect(aborted.has(id)).toBe(false);
  });

  it('interrupts those that do not, and gives their jobs back with their budget', async () => {
    const { pool, queue, holding } = await startPool({ shutdownSecs: 0.2 });
    const config = { max_retries: 1, retry_delay_secs: 0 };
    const [polite, stubborn] = [await holding('hold', { config }), await holding('stubborn', { config })];
    await pool.stop();
    expect(aborted.get(polite)).toBe('the server is shutting down');
    for (const id of [polite, stubborn]) {
      expect(await getJob(a, id)).toMatchObject({
        status: 'pending',
        retry_count: 0,
        delivery_count: 1,
        error_message: null,
        next_retry_at: null,
      });
    }
    const again = await kit.lease(worker, queue, { max_jobs: 2 });
    expect(again.map(({ job }) => job.delivery_count)).toEqual([2, 2]);
  });

  it('gives back what it had claimed and not started', async () => {
    const { pool, queue } = await startPool({ shutdownSecs: 0.2 });
    const held = await claimAhead(queue);
    await pool.stop();
    const jobs = await Promise.all(held.map((id) => getJob(a, id)));
    expect(jobs.map((job) => job.status)).toEqual(jobs.map(() => 'pending'));
    expect(jobs.every((job) => job.retry_count === 0)).toBe(true);
    expect(jobs.filter((job) => job.delivery_count === 1).length).toBeGreaterThan(2);
    expect(await kit.lease(worker, queue, { max_jobs: 100 })).toHaveLength(jobs.length);
  });

  it('gives back what a claim in flight brings after all', async () => {
    const { pool, queue } = await startPool();
    const id = await createJob(a, `${queue}-elsewhere`);
    // On the queue of the pool only once its claim would be held up.
    const block = await blockClaimOf(database, id);
    await database.query('UPDATE millrace.ready SET queue = $2 WHERE id = $1', [id, queue]);
    await database.query('UPDATE millrace.jobs SET queue = $2 WHERE id = $1', [id, queue]);
    await createJob(a, queue, { task_name: 'echo' });
    await block.held();
    const stopped = pool.stop();
    await block.release();
    await stopped;
    expect(await getJob(a, id)).toMatchObject({ status: 'pending', retry_count: 0 });
  });

  it('stops at once when there is nothing to wait for, even in the middle of a claim', async () => {
    for (let i = 0; i < 3; i++) {
      const { pool } = await startPool({ shutdownSecs: 3600 });
      await pool.stop();
    }
  });

  it('asks no more after jobs that were cancelled after it had claimed them, started or not', async () => {
    const { pool, queue } = await startPool();
    const held = await claimAhead(queue);
    const waiting = held.filter((id) => !started.has(id));
    for (const id of waiting) expect((await cancel(a, id)).status).toBe(204);
    const two = held.filter((id) => started.has(id));
    for (const id of two) await cancel(a, id);
    await until(() => two.every((id) => aborted.has(id)));
    // Every half second it asks after what it holds. Now it holds nothing, and three rounds go by without a question.
    const lastAsked = `SELECT extract(epoch FROM clock_timestamp() - max(query_start))::float8 AS secs
      FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'millrace' AND query LIKE '%AS mine (id, token)%'`;
    let quietSince = performance.now();
    await until(async () => {
      const [row] = await database.query<{ secs: number | null }>(lastAsked);
      if (row!.secs !== null && row!.secs < 0.6) quietSince = performance.now();
      return performance.now() - quietSince > 1_600;
    });
    await waitFor(a, await createJob(a, queue, { task_name: 'echo' }), 'completed');
    await pool.stop();
  });
});
