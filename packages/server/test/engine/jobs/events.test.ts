import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { blockClaimOf, blockLeaseOf } from '../blocking.js';
import * as kit from '../kit.js';
import { complete, createJob, fail, getJob, lease, leaseOne, newQueue } from '../kit.js';
import { leaseNext } from '../waiting.js';
import { openEvents, statusesOf } from './sse.js';

describe('the event stream of a job', async () => {
  const database = await cloneDatabase();
  // Streams are opened on one process; workers talk to the other.
  const [here, there] = [
    await startTestServer({ database, config: { mode: 'api' } }),
    await startTestServer({ database, config: { mode: 'api' } }),
  ];
  const { a, b } = here;
  const { worker } = there;
  afterAll(async () => {
    await Promise.all([here.stop(), there.stop()]);
    await database.drop();
  });
  const rows = async (table: string): Promise<unknown> =>
    (await database.query(`SELECT count(*)::int AS n FROM millrace.${table}`))[0]?.n;

  it('sends the state of a job that has ended, and closes', async () => {
    const queue = newQueue();
    const [done, failed, stopped] = [await createJob(a, queue), await createJob(a, queue), await createJob(a, queue)];
    await complete(worker, await leaseOne(worker, queue), { x: 1 });
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    await kit.cancel(a, stopped);
    for (const id of [done, failed, stopped]) {
      const states = await (await openEvents(a, id)).rest();
      expect(states).toEqual([await getJob(a, id)]);
    }
  });

  it('sends every transition made by another process, in order, and closes at the end', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
    const events = await openEvents(a, id);
    expect(await events.next()).toEqual(await getJob(a, id));
    const first = await leaseOne(worker, queue);
    expect(await events.next()).toEqual(first.job);
    await fail(worker, first, { error: 'once' });
    const retrying = await events.next();
    expect(retrying).toMatchObject({ status: 'retrying', retry_count: 1, error_message: 'once', delivery_count: 1 });
    expect(retrying!.next_retry_at).toBe(retrying!.scheduled_at);
    const second = await leaseOne(worker, queue);
    expect(await events.next()).toEqual(second.job);
    await complete(worker, second, { done: true });
    expect(await events.next()).toEqual(await getJob(a, id));
    expect(await events.next()).toBeNull();
  });

  it('misses nothing, however fast it goes', async () => {
    const queue = newQueue();
    const ids = await kit.createJobs(a, queue, 20, { retry_delay_secs: 0, max_retries: 2 });
    const streams = await Promise.all(ids.map((id) => openEvents(a, id)));
    const drained = Promise.all(streams.map((events) => events.rest()));
    for (let delivery = 1; delivery <= 3; delivery++) {
      const leased = await lease(worker, queue, { max_jobs: 100 });
      expect(leased).toHaveLength(20);
      await Promise.all(
        leased.map((leasedJob) => (delivery < 3 ? fail(worker, leasedJob) : complete(worker, leasedJob))),
      );
    }
    for (const states of await drained) {
      expect(statusesOf(states)).toEqual([
        'pending',
        'running',
        'retrying',
        'running',
        'retrying',
        'running',
        'completed',
      ]);
      expect(states.map((state) => state.delivery_count)).toEqual([0, 1, 1, 2, 2, 3, 3]);
    }
  });

  it('sends cancellation, every kind of waiting, and running', async () => {
    const queue = newQueue();
    const [waiting, running] = [await createJob(a, newQueue()), await createJob(a, queue)];
    const streams = await Promise.all([waiting, running].map((id) => openEvents(a, id)));
    await leaseOne(worker, queue);
    for (const id of [waiting, running]) await kit.cancel(there.a, id);
    const [one, two] = await Promise.all(streams.map((events) => events.rest()));
    expect(statusesOf(one!)).toEqual(['pending', 'cancelled']);
    expect(statusesOf(two!)).toEqual(['pending', 'running', 'cancelled']);
  });

  it('carries a job of a hundred kilobytes and its result', async () => {
    const queue = newQueue();
    const payload = { text: 'x'.repeat(100_000) };
    const id = await createJob(a, queue, { payload });
    const events = await openEvents(a, id);
    await complete(worker, await leaseOne(worker, queue), payload);
    const states = await events.rest();
    expect(statusesOf(states)).toEqual(['pending', 'running', 'completed']);
    expect(states.at(-1)).toMatchObject({ payload, result: payload });
  });

  it('has the right name and type, one line of data per event, and no token', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { payload: { lines: 'a\nb\r\n\u2028' } });
    const response = await a.open('GET', `/api/v1/jobs/${id}/events`);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const leased = await leaseOne(worker, queue);
    await complete(worker, leased);
    const text = await response.text();
    const blocks = text.split('\n\n').filter((block) => block !== '' && !block.startsWith(':'));
    expect(blocks).toHaveLength(3);
    for (const block of blocks) expect(block).toMatch(/^event: status\ndata: \{[^\n\r]*\}$/);
    expect(text).not.toContain(leased.lease_token);
  });

  it('is refused in JSON before it begins', async () => {
    const theirs = await createJob(b, newQueue());
    const path = (id: string): string => `/api/v1/jobs/${id}/events`;
    for (const [reply, status, code] of [
      [await a.get(path(theirs)), 403, 'forbidden'],
      [await a.get(path('0198c7f0-0000-7000-8000-000000000000')), 404, 'not_found'],
      [await a.get(path('x')), 404, 'not_found'],
      [await here.nobody.get(path(theirs)), 401, 'unauthorized'],
      [await here.worker.get(path(theirs)), 401, 'unauthorized'],
    ] as const) {
      expect([reply.status, reply.body.code]).toEqual([status, code]);
      expect(reply.headers.get('content-type')).toContain('application/json');
    }
  });

  it('leaves nothing behind, whichever side ends it', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const streams = await Promise.all([openEvents(a, id), openEvents(a, id), openEvents(there.a, id)]);
    for (const events of streams) expect((await events.next())?.status).toBe('pending');
    await streams[0].close();
    await complete(worker, await leaseOne(worker, queue));
    for (const events of streams.slice(1)) expect(statusesOf(await events.rest())).toEqual(['running', 'completed']);
    await until(async () => (await rows('watches')) === 0 && (await rows('transitions')) === 0);
    // Nobody watches, so nothing is written.
    await createJob(a, queue);
    await complete(worker, await leaseOne(worker, queue));
    expect(await rows('transitions')).toBe(0);
  });

  describe('opened while a transition is in flight that cannot see the watch', () => {
    it('does not miss a claim', async () => {
      const queue = newQueue();
      const id = await createJob(a, queue);
      const block = await blockClaimOf(database, id);
      const claiming = lease(worker, queue);
      await block.held();
      const events = await openEvents(a, id);
      expect((await events.next())?.status).toBe('pending');
      await block.release();
      const [leased] = await claiming;
      await complete(worker, leased!);
      const states = await events.rest();
      expect(statusesOf(states)).toEqual(['running', 'completed']);
      // What was not seen is told from what came before and after it, and they know no lease. It was seen after all if
      // a look came while the job ran.
      const { lease_expires_at } = states[0]!;
      expect(states[0]).toEqual({ ...leased!.job, lease_expires_at });
      expect([null, leased!.job.lease_expires_at]).toContain(lease_expires_at);
    });

    it('does not miss a failure whose retry is claimed at once', async () => {
      const queue = newQueue();
      const id = await createJob(a, queue, { config: { retry_delay_secs: 0 } });
      const first = await leaseOne(worker, queue);
      const block = await blockLeaseOf(database, id);
      const failing = fail(worker, first, { error: 'unseen' });
      await block.held();
      const events = await openEvents(a, id);
      expect(await events.next()).toEqual(first.job);
      const claiming = leaseNext(worker, queue);
      await block.release();
      await failing;
      const second = await claiming;
      await complete(worker, second);
      const states = await events.rest();
      expect(statusesOf(states)).toEqual(['retrying', 'running', 'completed']);
      expect(states[0]).toEqual({
        ...second.job,
        status: 'retrying',
        delivery_count: 1,
        started_at: first.job.started_at,
        next_retry_at: second.job.scheduled_at,
        lease_expires_at: null,
      });
      expect(states[0]).toMatchObject({ error_message: 'unseen', retry_count: 1 });
    });

    it('does not miss the end', async () => {
      const queue = newQueue();
      const id = await createJob(a, queue);
      const leased = await leaseOne(worker, queue);
      const block = await blockLeaseOf(database, id);
      const completing = complete(worker, leased, { unseen: true });
      await block.held();
      const events = await openEvents(a, id);
      expect((await events.next())?.status).toBe('running');
      await block.release();
      await completing;
      expect(await events.rest()).toEqual([await getJob(a, id)]);
    });
  });
});
