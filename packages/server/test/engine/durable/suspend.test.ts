import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { cancel, comparable, complete, createJob, fail, getJob, idsOf, lease, leaseOne, newQueue } from '../kit.js';
import { openEvents } from '../jobs/sse.js';
import { checkpointsOf, readAsWorker, store, suspend } from './kit.js';

const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { mode: 'api' } });
const { a, b, worker } = server;
afterAll(async () => {
  await server.stop();
  await database.drop();
});

const HOUR = 3_600;

describe('a job that sleeps', () => {
  it('is back in its queue, holds no lease, and is due at its instant', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const first = await leaseOne(worker, queue);
    const asleep = await suspend(worker, first, { checkpoint: 'grace', delay_secs: HOUR });
    expect([asleep.status, asleep.text]).toEqual([204, '']);
    const job = await getJob(a, id);
    expect(job).toMatchObject({ status: 'pending', retry_count: 0, delivery_count: 1, lease_expires_at: null });
    expect(job.waiting_for).toMatchObject({ checkpoint: 'grace', until: job.scheduled_at, signal: null, key: null });
    const [listed] = (await a.get(`/api/v1/jobs?queue=${queue}`)).body.jobs;
    expect(listed).not.toHaveProperty('waiting_for');
    expect((await a.get(`/api/v1/jobs/${id}/why`)).body).toMatchObject({ reason: 'sleeping', until: job.scheduled_at });
    expect((await store(worker, first, 'late', 1)).status).toBe(409);
    await clock.advance(HOUR - 1);
    expect(await lease(worker, queue)).toEqual([]);
    await clock.advance(1);
    const second = await leaseOne(worker, queue);
    expect(second.job).toMatchObject({ delivery_count: 2, retry_count: 0 });
    const { waits } = (await readAsWorker(worker, second)).body;
    expect(waits).toEqual([{ name: 'grace', until: job.scheduled_at }]);
    expect(comparable(second.job.started_at) >= comparable(waits[0].until)).toBe(true);
    await store(worker, second, 'grace', null);
    expect((await readAsWorker(worker, second)).body.waits).toEqual([]);
    await complete(worker, second);
    expect(await checkpointsOf(a, id)).toEqual({ grace: null });
    const { attempts } = (await a.get(`/api/v1/jobs/${id}/attempts`)).body;
    expect(attempts).toMatchObject([
      { number: 1, outcome: 'suspended' },
      { number: 2, outcome: 'completed' },
    ]);
  });

  it('wakes at the first instant stored, however often it comes back', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'nap', delay_secs: HOUR });
    const { scheduled_at: until } = await getJob(a, id);
    await clock.advance(HOUR / 2);
    await a.post(`/api/v1/jobs/${id}/cancel`);
    const again = await createJob(a, queue);
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'nap', delay_secs: HOUR });
    const { scheduled_at: first } = await getJob(a, again);
    expect(first).not.toBe(until);
    await database.query(`UPDATE millrace.ready SET scheduled_at = test_clock.now(), later = NULL WHERE id = $1`, [
      again,
    ]);
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'nap', delay_secs: 10 * HOUR });
    expect((await getJob(a, again)).scheduled_at).toBe(first);
  });

  it('goes on at once if the checkpoint is there already', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    const first = await leaseOne(worker, queue);
    await store(worker, first, 'done', null);
    await suspend(worker, first, { checkpoint: 'done', delay_secs: HOUR });
    const second = await leaseOne(worker, queue);
    expect(second.job.delivery_count).toBe(2);
  });

  it('keeps its retries, and its retry count', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { max_retries: 1, retry_delay_secs: 0, jitter_factor: 0 } });
    await fail(worker, await leaseOne(worker, queue));
    for (let n = 0; n < 3; n++)
      await suspend(worker, await leaseOne(worker, queue), { checkpoint: `n${n}`, delay_secs: 0 });
    expect(await getJob(a, id)).toMatchObject({ status: 'retrying', retry_count: 1, delivery_count: 4 });
    await fail(worker, await leaseOne(worker, queue));
    expect(await getJob(a, id)).toMatchObject({ status: 'failed', retry_count: 1, delivery_count: 5 });
  });

  it('does not crowd out the failures of its attempts', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { max_retries: 3, retry_delay_secs: 0, jitter_factor: 0 } });
    await fail(worker, await leaseOne(worker, queue), { error: 'the first' });
    for (let n = 0; n < 45; n++)
      await suspend(worker, await leaseOne(worker, queue), { checkpoint: `n${n}`, delay_secs: 0 });
    const { attempts, omitted } = (await a.get(`/api/v1/jobs/${id}/attempts`)).body;
    expect(attempts[0]).toMatchObject({ number: 1, outcome: 'failed', error_message: 'the first' });
    expect(attempts.slice(1).map(({ number }: { number: number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, n) => 27 + n),
    );
    expect(omitted).toBe(25);
  });

  it('can be woken, cancelled and reported in a batch', async () => {
    const queue = newQueue();
    for (let n = 0; n < 3; n++) await createJob(a, queue);
    const leased = await lease(worker, queue, { max_jobs: 3 });
    const ids = idsOf(leased);
    const reports = leased.map(({ job, lease_token }, n) => ({
      ...{ job_id: job.id, lease_token, outcome: 'suspended' },
      ...(n === 2 ? {} : { checkpoint: 'nap', delay_secs: HOUR }),
    }));
    const { body } = await worker.post('/api/v1/reports', { reports });
    expect(body.reports).toMatchObject([{ ok: true }, { ok: true }, { code: 'invalid_request' }]);
    expect((await a.post(`/api/v1/jobs/${ids[0]}/run-now`)).status).toBe(204);
    const woken = await leaseOne(worker, queue);
    expect(woken.job.id).toBe(ids[0]);
    const [wait] = (await readAsWorker(worker, woken)).body.waits;
    expect(comparable(woken.job.started_at) >= comparable(wait.until)).toBe(true);
    expect((await cancel(a, ids[1]!)).status).toBe(204);
    expect(await getJob(a, ids[1]!)).toMatchObject({ status: 'cancelled' });
    expect(await getJob(a, ids[1]!)).not.toHaveProperty('waiting_for');
  });

  it('is told to those who watch it', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const events = await openEvents(a, id);
    const leased = await leaseOne(worker, queue);
    await suspend(worker, leased, { checkpoint: 'nap', delay_secs: HOUR });
    // What it waits for is told as long as it does.
    const before = [(await events.next())!, (await events.next())!, (await events.next())!];
    await clock.advance(HOUR);
    await complete(worker, await leaseOne(worker, queue));
    const told = [...before, ...(await events.rest())].map(({ status, waiting_for: waiting }) => [
      status,
      waiting?.checkpoint,
    ]);
    expect(told).toEqual([
      ['pending', undefined],
      ['running', undefined],
      ['pending', 'nap'],
      ['running', undefined],
      ['completed', undefined],
    ]);
  });
});

describe('a suspension', () => {
  it('is refused if it makes no sense, and answers like a release', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    const leased = await leaseOne(worker, queue);
    for (const [fields, path] of [
      [{ delay_secs: 1 }, 'checkpoint'],
      [{ checkpoint: 'x' }, 'until'],
      [{ checkpoint: 'x', delay_secs: 1, until: '2030-01-01T00:00:00Z' }, 'until'],
      [{ checkpoint: 'x', until: '9999-01-01T00:00:00Z' }, 'until'],
      [{ checkpoint: 'x', until: 'tomorrow' }, 'until'],
      [{ checkpoint: 'x', delay_secs: -1 }, 'delay_secs'],
      [{ checkpoint: 'x', delay_secs: 31_536_001 }, 'delay_secs'],
      [{ checkpoint: 'x', delay_secs: 1, wait: {} }, 'wait'],
      [{ checkpoint: 'x', delay_secs: 1, wait: { signal: {} } }, 'wait.signal.name'],
      [{ checkpoint: 'x', delay_secs: 1, wait: { signal: { name: '' } } }, 'wait.signal.name'],
    ] as const) {
      const reply = await suspend(worker, leased, fields);
      expect([reply.status, reply.body?.details?.[0].path], JSON.stringify(fields)).toEqual([400, path]);
    }
    const sleep = { checkpoint: 'x', delay_secs: 1 };
    expect((await suspend(worker, { ...leased, lease_token: randomUUID() }, sleep)).body.code).toBe('lease_lost');
    expect((await suspend(worker, { ...leased, job: { ...leased.job, id: randomUUID() } }, sleep)).status).toBe(404);
    expect((await suspend(a, leased, sleep)).status).toBe(403);
    await complete(worker, leased);
    expect((await suspend(worker, leased, sleep)).status).toBe(204);
    expect(await getJob(a, leased.job.id)).toMatchObject({ status: 'completed' });
    expect((await b.get(`/api/v1/jobs/${leased.job.id}/checkpoints`)).status).toBe(403);
  });

  it('of a step leaves its workflow running', async () => {
    const queue = newQueue();
    const steps = [
      { name: 'one', task_name: 't', queue },
      { name: 'two', task_name: 't', queue, depends_on: ['one'] },
    ];
    const { workflow_id: id } = (await a.post('/api/v1/workflows', { name: 'w', steps })).body;
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'nap', delay_secs: HOUR });
    expect((await a.get(`/api/v1/workflows/${id}`)).body.status).toBe('running');
    await clock.advance(HOUR);
    await complete(worker, await leaseOne(worker, queue));
    await complete(worker, await leaseOne(worker, queue));
    expect((await a.get(`/api/v1/workflows/${id}`)).body.status).toBe('completed');
  });
});
