import { afterAll, describe, expect, it } from 'vitest';
import { evenRanges } from '../../src/domain/cells.js';
import type { Handlers } from '../../src/index.js';
import { blockClaimOf } from '../engine/blocking.js';
import { createJob, getJob, inSeconds, lease, newQueue, waitFor, type Leased } from '../engine/kit.js';
import { cloneCells } from '../support/cells.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';
import { clientsOf, namesIn } from './kit.js';

/** A database that shows its jobs, and then does not say which of them it has claimed. */
const database = await cloneCells(2);
const [, second] = database.cells;
const handlers: Handlers = { task: () => ({}) };
const server = await startTestServer({
  ...{ database, handlers, config: { defaultQueue: 'pooled' } },
  intervals: { patienceMs: 1_000 },
});
afterAll(async () => {
  await server.stop();
  await database.drop();
});
const [here, there] = await clientsOf(server, namesIn(evenRanges(2)));
const FIRST = { config: { priority: 9 } };
/** Each call may wait longer than any statement may take. */
const leased = (queue: string): Promise<Leased> =>
  until(async () => (await lease(server.worker, queue, { wait_secs: 30 }))[0], { what: 'a job' });

describe('while one of two databases does not answer a claim', () => {
  it('a lease gets the jobs of the other, and its job is as if nobody had claimed it', async () => {
    const queue = newQueue();
    const blocked = await createJob(there!, queue, FIRST);
    const block = await blockClaimOf(second!, blocked);
    const free = await createJob(here!, queue);
    const [{ job }] = await Promise.all([leased(queue), block.held()]);
    expect(job.id).toBe(free);
    // It is claimed now, for somebody who does not wait any more.
    await block.release();
    const { job: again } = await leased(queue);
    expect([again.id, again.delivery_count]).toEqual([blocked, 1]);
  });

  it('the pool runs the jobs of the other, and its job when it comes', async () => {
    const blocked = await createJob(there!, 'pooled', { ...FIRST, run_at: inSeconds(3_600) });
    const block = await blockClaimOf(second!, blocked);
    expect((await there!.post(`/api/v1/jobs/${blocked}/run-now`)).status).toBe(204);
    await block.held();
    await waitFor(here!, await createJob(here!, 'pooled'), 'completed');
    await block.held();
    await block.release();
    const job = await until(async () => {
      const found = await getJob(there!, blocked);
      return found.status === 'completed' ? found : `it is ${found.status}`;
    });
    expect(job.delivery_count).toBe(1);
  });
});
