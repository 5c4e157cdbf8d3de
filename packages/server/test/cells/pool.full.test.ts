import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { evenRanges } from '../../src/domain/cells.js';
import type { Handlers } from '../../src/index.js';
import { createJob, newQueue, waitFor } from '../engine/kit.js';
import { count, createMany } from '../pool/kit.js';
import { asCells } from '../support/cells.js';
import { oneDatabase } from '../support/database.js';
import { lockWaits } from '../support/lock-waits.js';
import { startProxy } from '../support/proxy.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { clientsOf, namesIn } from './kit.js';

/** The pool of a process, with far more jobs of one database than it may have in hand. */
const [low, high] = await Promise.all([oneDatabase(), oneDatabase()]);
const proxy = await startProxy(high.url);
const database = asCells([low, { ...high, url: proxy.url }], evenRanges(2));
const queue = newQueue();
const JOBS = 6_000;
const runs = new Map<string, number>();
const handlers: Handlers = {
  count_runs: (_payload, { job }) => {
    runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
    return {};
  },
};
const server = await startTestServer({ database, handlers, config: { defaultQueue: queue } });
const [here, there] = await clientsOf(server, namesIn(evenRanges(2)));
afterAll(async () => {
  await server.stop();
  await proxy.close();
  await database.drop();
});

const done = (): Promise<number> => count(high, 'millrace.done', `status = 'completed'`);
const ended = (jobs: number): Promise<unknown> =>
  until(async () => (await done()) === jobs || `${await done()} have ended`, { what: 'all jobs to be completed' });
/** Several, one after the other: the first might have been claimed before. */
async function othersRun(): Promise<void> {
  for (let n = 0; n < 5; n++)
    await waitFor(here!, await createJob(here!, queue, { task_name: 'count_runs' }), 'completed');
}

describe('a pool on two databases runs the jobs of the one', () => {
  it('while the other stores no outcomes', async () => {
    const locker = new pg.Client({ connectionString: high.url, application_name: 'test kit' });
    await locker.connect();
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE millrace.done IN EXCLUSIVE MODE');
    await createMany(there!, JOBS, queue, 'count_runs');
    await lockWaits(high);
    await othersRun();
    expect(await count(high, 'millrace.ready', `queue = '${queue}'`)).toBeGreaterThan(0);
    await locker.query('ROLLBACK');
    await locker.end();
    await ended(JOBS);
  });

  it('while the other is away', async () => {
    const before = await done();
    await createMany(there!, JOBS, queue, 'count_runs');
    await until(async () => (await done()) > before, { what: 'the pool to be at work' });
    await proxy.cut();
    await othersRun();
    await proxy.restore();
    await ended(before + JOBS);
  });
});
