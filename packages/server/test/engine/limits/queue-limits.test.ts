import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { createClient } from '../../support/client.js';
import { oneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer, WORKER_TOKEN } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import {
  cancel,
  complete,
  createJob,
  createJobs,
  expireLease,
  fail,
  idsOf,
  lease,
  leaseOne,
  newQueue,
  report,
  SWEEP_OFTEN,
  waitFor,
} from '../kit.js';
import { leaseNext, leaseSome } from '../waiting.js';

/** What operators set for whole queues, in two processes on one database whose clock moves when it is told to. */
// Settings of queues hold for each database by itself (docs/scaling.md).
const database = await oneDatabase();
const clock = await controlClock(database);
await clock.freeze();
/** Ends those that run, in the order in which they began; and how many there were at most. */
const busy: (() => void)[] = [];
let mostBusy = 0;
const handlers = {
  busy: () =>
    new Promise<void>((resolve) => {
      mostBusy = Math.max(mostBusy, busy.push(resolve));
    }),
};
const server = await startTestServer({ database, handlers, config: { workers: 8 }, intervals: SWEEP_OFTEN });
const other = await startAnotherServer(database, { mode: 'api' });
const { a, b, worker, admin } = server;
const [a2, worker2] = [createClient(other.apiUrl!, KEY_A), createClient(other.apiUrl!, WORKER_TOKEN)];
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

const put = (queue: string, body: object) => admin.send('PUT', `/api/v1/admin/queues/${queue}`, { body });
const set = async (queue: string, body: object): Promise<any> => {
  const reply = await put(queue, body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
};
const settingsOf = async (queue: string): Promise<any> => (await admin.get(`/api/v1/admin/queues/${queue}`)).body;
const why = async (id: string): Promise<any> => (await a.get(`/api/v1/jobs/${id}/why`)).body;
const many = { max_jobs: 100, lease_secs: 3_600 };
const HOURLY = { count: 1, per_secs: 3_600 };

describe('how many jobs of a queue run', () => {
  it('is bounded over all tenants and processes, and each end lets the next one start', async () => {
    const queue = newQueue();
    await set(queue, { running: 2 });
    await createJobs(a, queue, 3);
    await createJobs(b, queue, 3);
    const [first, second, ...more] = await lease(worker, queue, many);
    expect(more).toEqual([]);
    expect(await lease(worker2, queue, many)).toEqual([]);
    // Told of, not found: who waits elsewhere gets it.
    const waiting = leaseSome(worker2, queue, many);
    await complete(worker, first!);
    expect(await waiting).toHaveLength(1);
    await fail(worker, second!, { retryable: false });
    const third = await leaseNext(worker2, queue, many);
    await report(worker2, 'release', third, { delay_secs: 600 });
    const [fourth] = await leaseSome(worker, queue, many);
    expect(fourth).toBeDefined();
    expect(await lease(worker, queue, many)).toEqual([]);
    // A worker that is lost holds its room until its lease is over.
    await expireLease(database, fourth!.job.id);
    expect(await leaseSome(worker, queue, many)).toHaveLength(1);
  });

  it('holds for the pool, which takes its jobs one by one', async () => {
    await set('default', { running: 3 });
    const ids = await Promise.all(Array.from({ length: 30 }, () => createJob(a, 'default', { task_name: 'busy' })));
    for (let left = ids.length; left > 0; left--) {
      await until(() => busy.length >= Math.min(3, left), { what: `as many as may of ${left}` });
      busy.shift()!();
    }
    for (const id of ids) await waitFor(a, id, 'completed');
    expect(mostBusy).toBe(3);
    await set('default', { running: null });
  });

  it('changes for what waits: raised, lowered without stopping anything, and taken away', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 8);
    const before = await lease(worker, queue, { ...many, max_jobs: 3 });
    await set(queue, { running: 2 });
    expect(await lease(worker, queue, many)).toEqual([]);
    await complete(worker, before[0]!);
    expect(await lease(worker, queue, many)).toEqual([]);
    await set(queue, { running: 4 });
    expect(await lease(worker2, queue, many)).toHaveLength(2);
    const waiting = leaseSome(worker2, queue, many);
    await set(queue, { running: null });
    expect(await waiting).toHaveLength(3);
  });

  it('goes with the limits of keys: whoever has no room there is passed over', async () => {
    const queue = newQueue();
    await set(queue, { running: 2 });
    const config = { limits: [{ key: 'k', running: 1 }] };
    const ids: string[] = [];
    for (const fields of [{ config }, { config }, {}, {}]) {
      // Ids of one instant are in no order.
      await clock.advance(0.001);
      ids.push(await createJob(a, queue, fields));
    }
    const [first, second, ...plain] = ids as [string, string, ...string[]];
    const leased = await lease(worker, queue, many);
    expect(idsOf(leased).sort()).toEqual([first, plain[0]].sort());
    expect(await why(second)).toMatchObject({ reason: 'limited', limit: { key: 'k' } });
    expect(await why(plain[1]!)).toMatchObject({ reason: 'limited', ahead: 0 });
    await complete(
      worker,
      leased.find(({ job }) => job.id === first)!,
    );
    const next = await leaseNext(worker, queue, many);
    expect(await lease(worker, queue, many)).toEqual([]);
    await complete(worker, next);
    await leaseNext(worker, queue, many);
    expect(await violationsIn(database)).toEqual([]);
  });
});

describe('the rate of a queue', () => {
  it('lets jobs start evenly, after a burst, whoever they belong to', async () => {
    const queue = newQueue();
    await set(queue, { rate: { count: 6, per_secs: 60, burst: 2 } });
    await createJobs(a, queue, 4);
    await createJobs(b, queue, 4);
    const starts = async (secs: number, client = worker): Promise<number> => {
      await clock.advance(secs);
      return (await lease(client, queue, many)).length;
    };
    expect([await starts(0), await starts(9, worker2), await starts(1.1), await starts(0, worker2)]).toEqual([
      2, 0, 1, 0,
    ]);
    expect([await starts(5), await starts(5.1, worker2), await starts(600), await starts(0)]).toEqual([0, 1, 2, 0]);
  });

  it('stays with the queue when its number changes or other settings do, and goes when it is removed', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 5);
    await set(queue, { rate: HOURLY });
    expect(await lease(worker, queue, many)).toHaveLength(1);
    await set(queue, { running: 100 });
    expect(await lease(worker, queue, many)).toEqual([]);
    await set(queue, { rate: { count: 60, per_secs: 60 } });
    await clock.advance(1.1);
    expect(await lease(worker2, queue, many)).toHaveLength(1);
    await set(queue, { rate: null });
    expect(await lease(worker, queue, many)).toHaveLength(3);
  });

  it('is told as the reason, with the instant', async () => {
    const queue = newQueue();
    await set(queue, { rate: { count: 6, per_secs: 60 } });
    const [, next, last] = await createJobs(a, queue, 3);
    await leaseOne(worker, queue, many);
    const now = (await clock.now()).getTime();
    const shown = await why(last!);
    expect(shown).toMatchObject({ reason: 'rate_limited', ahead: 1 });
    expect(shown.message).toContain(`6 per 60 s may start on the queue "${queue}"`);
    expect(Math.round((Date.parse(shown.until as string) - now) / 1000)).toBe(20);
    await cancel(a, next!);
    expect((await why(last!)).ahead).toBe(0);
    await set(queue, { running: 1, rate: null });
    expect(await why(last!)).toMatchObject({ reason: 'limited', ahead: 0 });
    expect((await why(last!)).message).toBe(`1 of 1 running on the queue "${queue}"; it is next.`);
  });
});

describe('settings', () => {
  it('are shown, stay if they are not given, and go with null', async () => {
    const queue = newQueue();
    const none = { queue, running: null, rate: null, share: null };
    expect(await settingsOf(queue)).toEqual(none);
    expect(await set(queue, { running: 7 })).toEqual({ ...none, running: 7 });
    const rate = { ...HOURLY, burst: 1 };
    expect(await set(queue, { rate: HOURLY })).toEqual({ ...none, running: 7, rate });
    expect(await set(queue, { running: null, share: 'tenant' })).toEqual({ ...none, rate, share: 'tenant' });
    await createJob(a, queue);
    const shown = { running: null, rate, share: 'tenant' };
    expect((await a.get(`/api/v1/queues/${queue}`)).body.settings).toEqual(shown);
    for (const [client, path] of [[a2, '/queues'] as const, [admin, '/admin/queues'] as const]) {
      const { queues } = (await client.get(`/api/v1${path}`)).body as { queues: any[] };
      expect(queues.find((each) => each.queue === queue).settings).toEqual(shown);
    }
    expect(await set(queue, { rate: null, share: null })).toEqual(none);
    expect((await a.get(`/api/v1/queues/${queue}`)).body.settings).toBeNull();
    expect(await settingsOf(queue)).toEqual(none);
  });

  it('leave no row behind where nothing is set', async () => {
    const queue = newQueue();
    await set(queue, { running: 1 });
    await set(queue, { running: null });
    await set(queue, {});
    expect(await database.query('SELECT FROM millrace.queue_limits WHERE queue = $1', [queue])).toEqual([]);
  });

  it('are for operators alone', async () => {
    const path = `/api/v1/admin/queues/${newQueue()}`;
    for (const client of [a, worker]) {
      expect((await client.get(path)).status).toBe(403);
      expect((await client.send('PUT', path, { body: { running: 1 } })).status).toBe(403);
    }
    expect((await server.nobody.send('PUT', path, { body: { running: 1 } })).status).toBe(401);
  });

  it.each<[object, string]>([
    [{ running: 0 }, 'running'],
    [{ running: 10_001 }, 'running'],
    [{ rate: { count: 1 } }, 'rate.per_secs'],
    [{ rate: { count: 3, per_secs: 1, burst: 4 } }, 'rate.burst'],
    [{ share: 'everybody' }, 'share'],
  ])('%j is refused', async (body, path) => {
    const reply = await put(newQueue(), body);
    expect(reply.status).toBe(400);
    expect(reply.body.details[0].path).toBe(path);
  });
});
