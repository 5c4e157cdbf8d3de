import { afterAll, afterEach, beforeEach, expect, it, vi } from 'vitest';
import { evenRanges } from '../../src/domain/cells.js';
import { blockClaimOf } from '../engine/blocking.js';
import { createJob, idsOf, lease, newQueue } from '../engine/kit.js';
import { createSilently } from '../engine/silent.js';
import { cloneCells } from '../support/cells.js';
import { startTestServer } from '../support/server.js';
import { clientsOf, namesIn } from './kit.js';

/** Tenants in the first database; those of the test kit are in the second. */
const database = await cloneCells(2);
const server = await startTestServer({ config: { mode: 'api' }, database });
const [other] = await clientsOf(server, namesIn(evenRanges(2)));
afterAll(async () => {
  await server.stop();
  await database.drop();
});

// How long claims take, and how long floors hold, is measured with this clock. It moves when it is told to.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** As far as a look for one job sees. */
const SEEN = 50;
/** A claim that took longer than anybody waits for it is begun again. */
const LEASE = { wait_secs: 60 };

it('a look at a database whose claims are slow begins where they do, so that both see the same jobs', async () => {
  const queue = newQueue();
  // Two claims that take long: the next one begins where they ended.
  for (let n = 0; n < 2; n++) {
    const id = await createJob(server.a, queue);
    const block = await blockClaimOf(database, id);
    const claiming = lease(server.worker, queue, LEASE);
    await block.held();
    vi.advanceTimersByTime(200);
    await block.release();
    expect(idsOf(await claiming)).toEqual([id]);
  }
  const first = await createJob(other!, queue);
  for (let n = 0; n < SEEN; n++) await createSilently(database, queue);
  // Behind that point: no claim takes it yet, so it may not decide which database is claimed from.
  await createSilently(database, queue, { dueMinutesAgo: 10 });
  expect(idsOf(await lease(server.worker, queue, LEASE))).toEqual([first]);
});
