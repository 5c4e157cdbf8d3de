import { afterAll, describe, expect, it } from 'vitest';
import { inspect } from '../../../src/store/migrations/inspect.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { signal, suspend } from '../durable/kit.js';
import * as kit from '../kit.js';
import { complete, fail, idsOf, lease, newQueue, report, SWEEP_OFTEN, type Leased } from '../kit.js';
import { perform } from '../operations/operation-kit.js';
import { leaseNext, leaseSome } from '../waiting.js';

/** Limits, rates, unique jobs and expiry beside what else may happen to a job. The clock moves when it is told to. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { mode: 'api' }, intervals: SWEEP_OFTEN });
const { a, worker, admin } = server;
afterAll(async () => {
  expect((await inspect(database.url)).checks.filter(({ violations }) => violations > 0)).toEqual([]);
  // Nor has anybody had to count anew.
  expect(server.log().filter(({ msg }) => String(msg).startsWith('counted again'))).toEqual([]);
  await server.stop();
  await database.drop();
});

const DAY = 86_400;
const HOURLY = { count: 1, per_secs: 3_600 };
const rated = (more: object = {}): { config: object } => ({
  config: { limits: [{ key: 'r', rate: HOURLY }], ...more },
});
const one = [{ key: 'k', running: 1 }];
/** Ids of one instant are in no order. */
const createJob: typeof kit.createJob = async (client, queue, fields) => {
  await clock.advance(0.001);
  return kit.createJob(client, queue, fields);
};
const next = (queue: string): Promise<Leased> => leaseNext(worker, queue);
const none = async (queue: string): Promise<void> => expect(await lease(worker, queue, { max_jobs: 100 })).toEqual([]);
const why = async (id: string): Promise<any> => (await a.get(`/api/v1/jobs/${id}/why`)).body;
const waits = (id: string, reason: string): Promise<unknown> =>
  until(async () => (await why(id)).reason === reason || (await why(id)).reason, { what: `${id} to be ${reason}` });
const secsUntil = async (instant: string): Promise<number> =>
  Math.round((Date.parse(instant) - (await clock.now()).getTime()) / 1_000);

describe('a rate', () => {
  it.each<[string, (leased: Leased) => Promise<unknown>]>([
    ['a release', (leased) => report(worker, 'release', leased, {})],
    ['a lease that is over', (leased) => kit.expireLease(database, leased.job.id)],
    [
      'a signal',
      async (leased) => {
        const wait = { signal: { name: 'go', key: leased.job.id } };
        const { status, text } = await suspend(worker, leased, { checkpoint: 'go', delay_secs: DAY, wait });
        expect(status, text).toBe(204);
        expect((await signal(a, { name: 'go', key: leased.job.id })).body).toEqual({ delivered: true });
      },
    ],
  ])('counts the delivery after %s', async (_, giveBack) => {
    const queue = newQueue();
    const id = await createJob(a, queue, rated({ retry_delay_secs: 0, jitter_factor: 0 }));
    const first = await next(queue);
    await giveBack(first);
    await waits(id, 'rate_limited');
    await none(queue);
    await clock.advance(3_601);
    const again = await next(queue);
    expect(again.job).toMatchObject({ id, delivery_count: 2 });
    expect((await complete(worker, again)).status).toBe(204);
  });

  it('holds for the jobs of a schedule', async () => {
    const queue = newQueue();
    const schedule = { name: queue, cron_expr: '0 0 1 1 *', task_name: 'task', queue, ...rated() };
    const cron = await a.post('/api/v1/cron', schedule);
    expect(cron.status, cron.text).toBe(201);
    const fire = async (): Promise<string> => {
      await clock.advance(0.001);
      return (await a.post(`/api/v1/cron/${cron.body.cron_id}/trigger`)).body.job_id as string;
    };
    const ids = [await fire(), await fire()];
    const first = await next(queue);
    expect(first.job.id).toBe(ids[0]);
    await complete(worker, first);
    await waits(ids[1]!, 'rate_limited');
    await none(queue);
    await clock.advance(3_601);
    const second = await next(queue);
    expect(second.job.id).toBe(ids[1]);
    await complete(worker, second);
    expect((await a.post(`/api/v1/cron/${cron.body.cron_id}/pause`)).status).toBe(204);
  });
});

describe('the room of a parent', () => {
  it('is free while it waits for its children, and it waits for room again afterwards', async () => {
    const [queue, below] = [newQueue(), newQueue()];
    const id = await createJob(a, queue, { config: { limits: one } });
    const other = await createJob(a, queue, { config: { limits: one } });
    const parent = await next(queue);
    expect(parent.job.id).toBe(id);
    await none(queue);
    const jobs = [{ name: 'c', task_name: 'child', config: { queue: below } }];
    expect((await report(worker, 'children', parent, { jobs })).status).toBe(201);
    await suspend(worker, parent, { checkpoint: 'all', delay_secs: DAY, wait: { children: ['c'] } });
    const holder = await next(queue);
    expect(holder.job.id).toBe(other);
    await complete(worker, await next(below));
    await waits(id, 'limited');
    await none(queue);
    await complete(worker, holder);
    const again = await next(queue);
    expect(again.job).toMatchObject({ id, delivery_count: 2 });
    await complete(worker, again);
  });
});

describe('copies that are made in bulk', () => {
  it('are no unique jobs, drop the instant of their expiry, and keep the limits', async () => {
    const queue = newQueue();
    const at = new Date((await clock.now()).getTime() + 60_000).toISOString();
    const config = { limits: one, unique: { key: 'u', while: 'unfinished' }, max_retries: 0, priority: 3 };
    const failed = await createJob(a, queue, { config: { ...config, expires_at: at } });
    await fail(worker, await next(queue), { retryable: false });
    const also = await createJob(a, queue, { config: { ...config, expires_secs: 60 } });
    await fail(worker, await next(queue), { retryable: false });
    await clock.advance(3_600);
    const letters: string[] = [];
    for (const id of [failed, also]) letters.push(String((await kit.deadLettersOf(a, id))[0]!.id));
    expect(await perform(a, { action: 'replay_dead_letters', ids: letters })).toMatchObject({ changed: 2 });
    expect(await perform(a, { action: 'rerun_jobs', ids: [failed, also] })).toMatchObject({ changed: 2 });
    const copies = (await kit.listAll(a, `queue=${queue}&status=pending`)).map(({ config }) => config as object);
    expect(copies).toHaveLength(4);
    for (const copy of copies) {
      expect(copy).toMatchObject({ limits: one, priority: 3 });
      expect(copy).not.toHaveProperty('unique');
      expect(copy).not.toHaveProperty('expires_at');
    }
    expect(copies.filter((copy) => 'expires_secs' in copy)).toHaveLength(2);
    // One at a time, and the seconds count anew: two of them expire while the others take their turns.
    const ran: string[] = [];
    await clock.advance(61);
    await until(async () => (await kit.listAll(a, `queue=${queue}&status=cancelled`)).length === 2);
    for (let n = 0; n < 2; n++) {
      const leased = await next(queue);
      await none(queue);
      ran.push(leased.job.id);
      await complete(worker, leased);
    }
    expect(new Set(ran).size).toBe(2);
  });
});

describe('an expiry', () => {
  it('counts from the first create, however often the job is replaced', async () => {
    const queue = newQueue();
    const replace = async (): Promise<string> => {
      const unique = { key: 'u', while: 'waiting', on_conflict: 'replace' };
      const fields = { task_name: 'task', delay_secs: 30, config: { queue, unique, expires_secs: 100 } };
      const { status, body, text } = await a.post('/api/v1/jobs', fields);
      expect([200, 201], text).toContain(status);
      return body.job_id as string;
    };
    const id = await replace();
    for (let n = 0; n < 4; n++) {
      await clock.advance(20);
      expect(await replace()).toBe(id);
    }
    // Not due before it expires: so it never starts.
    await clock.advance(21);
    expect(await kit.waitFor(a, id, 'cancelled')).toMatchObject({ error_message: 'expired before it started' });
    expect(await replace()).not.toBe(id);
  });

  it('ends a job on a paused queue, and one in the line of a rate', async () => {
    const [paused, queue] = [newQueue(), newQueue()];
    expect((await admin.post(`/api/v1/admin/queues/${paused}/pause`)).status).toBe(204);
    const still = await createJob(a, paused, { config: { expires_secs: 60 } });
    const stays = await createJob(a, paused);
    const first = await createJob(a, queue, rated());
    const inLine = await createJob(a, queue, rated({ expires_secs: 60 }));
    const behind = await createJob(a, queue, rated());
    const leased = await next(queue);
    expect(leased.job.id).toBe(first);
    await waits(inLine, 'rate_limited');
    await clock.advance(61);
    for (const id of [still, inLine])
      expect(await kit.waitFor(a, id, 'cancelled')).toMatchObject({ error_message: 'expired before it started' });
    expect((await admin.post(`/api/v1/admin/queues/${paused}/resume`)).status).toBe(204);
    const left = await leaseSome(worker, paused, { max_jobs: 9 });
    expect(idsOf(left)).toEqual([stays]);
    await complete(worker, left[0]!);
    // It used no token: the next one is due an hour after the first.
    expect(await secsUntil((await why(behind)).until as string)).toBeLessThanOrEqual(3_600 - 61);
    await complete(worker, leased);
    await clock.advance(3_541);
    const last = await next(queue);
    expect(last.job.id).toBe(behind);
    await complete(worker, last);
  });
});
