import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import { startTestServer, WORKER_TOKEN } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { blockClaimOf, blockGateOf } from '../blocking.js';
import { suspend } from '../durable/kit.js';
import {
  complete,
  createJob,
  createJobs,
  getJob,
  lease,
  leaseOne,
  NEWS_ALONE,
  newQueue,
  waitFor,
  type Leased,
} from '../kit.js';
import { inTime, leaseSome, LONGEST_WAIT_SECS } from '../waiting.js';

/** Claims of queues with limits, which go one after another: two processes, each with a pool of its own queue. */
const database = await cloneDatabase();
const ending: (() => void)[] = [];
const handlers = { busy: () => new Promise<void>((resolve) => void ending.push(resolve)) };
const [OURS, THEIRS] = [newQueue(), newQueue()];
const server = await startTestServer({
  database,
  handlers,
  config: { workers: 8, defaultQueue: OURS },
  intervals: NEWS_ALONE,
});
const other = await startAnotherServer(database, { workers: 8, defaultQueue: THEIRS }, handlers);
const { a, worker, admin } = server;
const worker2 = createClient(other.apiUrl!, WORKER_TOKEN);
afterAll(async () => {
  for (const end of ending.splice(0)) end();
  await other.stop();
  await server.stop();
  await database.drop();
});

const set = async (queue: string, body: object): Promise<void> => {
  const reply = await admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body });
  expect(reply.status, reply.text).toBe(200);
};
const now = async (): Promise<number> => {
  const [row] = await database.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  return row!.now.getTime();
};
const many = { max_jobs: 100, lease_secs: 3_600 };

describe('a claim that has waited for its gate', () => {
  it('starts its jobs, and counts their tokens, as of when it held it: no rate is exceeded', async () => {
    const queue = newQueue();
    await set(queue, { rate: { count: 1, per_secs: 3_600 } });
    const id = await createJob(a, queue);
    const gate = await blockGateOf(database, queue);
    const leased = leaseSome(worker, queue, many);
    await gate.held();
    const waited = await now();
    await gate.release();
    expect(await leased).toHaveLength(1);
    expect(Date.parse((await getJob(a, id)).started_at!)).toBeGreaterThanOrEqual(waited);
    const [row] = await database.query<{ same: boolean }>(
      `SELECT g.refilled_at = l.started_at AS same FROM millrace.queue_limits g, millrace.leases l
       WHERE g.queue = $1 AND l.id = $2`,
      [queue, id],
    );
    expect(row).toEqual({ same: true });
  });

  it('hands out no job that has expired meanwhile', async () => {
    const queue = newQueue();
    await set(queue, { running: 5 });
    const id = await createJob(a, queue, { config: { expires_secs: 3_600 } });
    await database.query(`UPDATE millrace.ready SET expires_at = clock_timestamp() + interval '1 hour' WHERE id = $1`, [
      id,
    ]);
    const gate = await blockGateOf(database, queue);
    // Again and again: a claim waits for its gate for a moment only.
    const leased: Leased[] = [];
    let over = false;
    const claiming = async (): Promise<void> => {
      while (!over) leased.push(...(await lease(worker, queue, many)));
    };
    const claims = claiming();
    await gate.held();
    await database.query(`UPDATE millrace.ready SET expires_at = clock_timestamp() WHERE id = $1`, [id]);
    await gate.release();
    over = true;
    await claims;
    expect(leased).toEqual([]);
  });

  it('answers without jobs if that takes long, and whoever waits for jobs gets them afterwards', async () => {
    await inTime(LONGEST_WAIT_SECS, async (time) => {
      const queue = newQueue();
      await set(queue, { running: 5 });
      await createJobs(a, queue, 2);
      const gate = await blockGateOf(database, queue);
      expect(await lease(worker, queue, { max_jobs: 1 })).toEqual([]);
      time.restart();
      const waiting = [worker, worker2].map((each) => lease(each, queue, { max_jobs: 1, wait_secs: 60 }));
      await lockWaits(database);
      await gate.release();
      for (const leased of await Promise.all(waiting)) expect(leased).toHaveLength(1);
    });
  });
});

describe('settings of a queue', () => {
  it('hold from the answer on, for claims too that had begun before and did not know of them', async () => {
    const queue = newQueue();
    const [id] = await createJobs(a, queue, 3);
    const block = await blockClaimOf(database, id!);
    const before = lease(worker, queue, { max_jobs: 1 });
    await block.held();
    const answered = set(queue, { running: 1 }).then(() => lease(worker2, queue, many));
    await until(async () => {
      const rows = await database.query('SELECT FROM millrace.queue_limits WHERE queue = $1', [queue]);
      return rows.length === 1;
    });
    // Whoever does not wait for that claim has time to answer.
    for (let n = 0; n < 5; n++) await a.get('/api/v1/jobs?limit=1');
    await block.release();
    expect(await before).toHaveLength(1);
    expect(await answered).toEqual([]);
  });

  it('count what the pool runs, before and since, whichever queue is the default of a process', async () => {
    const busy = (queue: string): Promise<string> => createJob(a, queue, { task_name: 'busy' });
    const running = async (count: number): Promise<unknown> =>
      until(() => ending.length === count || `${ending.length} run`, { what: `${count} jobs to run` });
    const ids = [await busy(OURS), await busy(THEIRS), await busy(THEIRS)];
    await running(3);
    // None of theirs runs on ours, and both of theirs on theirs.
    await set(OURS, { running: 2 });
    await set(THEIRS, { running: 3 });
    for (const queue of [OURS, OURS, THEIRS, THEIRS]) ids.push(await busy(queue));
    await running(5);
    for (const queue of [OURS, THEIRS])
      for (const each of [worker, worker2]) expect(await lease(each, queue, many)).toEqual([]);
    for (let left = ids.length; left > 0; left--) {
      await until(() => ending.length > 0);
      ending.shift()!();
    }
    for (const id of ids) await waitFor(a, id, 'completed');
  });
});

describe('the end of a job', () => {
  it('lets the next one start for whoever waits elsewhere, and so does its suspension', async () => {
    await inTime(LONGEST_WAIT_SECS, async () => {
      const queue = newQueue();
      await set(queue, { running: 1 });
      await createJobs(a, queue, 3);
      const first = await leaseOne(worker2, queue, many);
      const second = lease(worker, queue, { ...many, wait_secs: 60 });
      expect((await complete(worker2, first)).status).toBe(204);
      const [held] = await second;
      expect(held).toBeDefined();
      const third = lease(worker2, queue, { ...many, wait_secs: 60 });
      const suspended = await suspend(worker, held!, { checkpoint: 'pause', delay_secs: 3_600 });
      expect(suspended.status, suspended.text).toBe(204);
      expect(await third).toHaveLength(1);
    });
  });
});
