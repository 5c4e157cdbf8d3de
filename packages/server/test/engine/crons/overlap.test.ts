import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { cancel, complete, fail, getJob, leaseOne, newQueue } from '../kit.js';
import { advanceTo, cronsOf } from './harness.js';

/** Schedules that skip an occurrence while the job of the last firing has not ended, with two schedulers at work. */
const database = await cloneDatabase();
const clock = await controlClock(database);
const server = await startTestServer({ database, config: { workers: 1 } });
const other = await startAnotherServer(database, { workers: 1 });
const { a, worker } = server;
const desk = cronsOf(a);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});
await clock.freeze();

const daily = (queue: string, fields: object = {}): Promise<string> =>
  desk.create({ name: `c-${queue}`, cron_expr: '@daily', queue, overlap: 'skip', ...fields });
const kinds = async (id: string): Promise<string[]> => (await desk.firings(id)).map(({ kind }) => kind).reverse();
async function pass(id: string): Promise<void> {
  const { length } = await desk.firings(id);
  await advanceTo(clock, (await desk.get(id)).next_run_at);
  await until(async () => (await desk.firings(id)).length > length, { what: 'the occurrence to be recorded' });
}

describe('a schedule with overlap skip', () => {
  it('skips while its job waits or runs, and fires again once that has ended', async () => {
    const queue = newQueue();
    const id = await daily(queue);
    expect(await desk.get(id)).toMatchObject({ overlap: 'skip' });
    await pass(id);
    await pass(id);
    const leased = await leaseOne(worker, queue);
    await complete(worker, leased);
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'skipped', 'on_time']);
    expect(await desk.jobs(id)).toHaveLength(2);
    const [, skipped] = await desk.firings(id);
    expect(skipped).toMatchObject({ job_id: null, workflow_id: null });
  });

  it.each([
    ['failed', async (queue: string) => void (await fail(worker, await leaseOne(worker, queue), { retryable: false }))],
    ['cancelled', async (_: string, job: string) => void (await cancel(a, job))],
  ])('fires after a job that was %s', async (status, end) => {
    const queue = newQueue();
    const id = await daily(queue);
    await pass(id);
    const job = (await desk.firings(id))[0]!.job_id;
    await end(queue, job);
    expect((await getJob(a, job)).status).toBe(status);
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'on_time']);
  });

  it('skips while a retry is due', async () => {
    const queue = newQueue();
    const id = await daily(queue, { config: { retry_delay_secs: 86_400, jitter_factor: 0 } });
    await pass(id);
    await fail(worker, await leaseOne(worker, queue));
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'skipped']);
  });

  it('is triggered by hand whatever runs, and heeds that job from then on', async () => {
    const queue = newQueue();
    const id = await daily(queue);
    await pass(id);
    const triggered = await desk.trigger(id);
    await cancel(a, (await desk.jobs(id)).find((job) => job.id !== triggered).id);
    await pass(id);
    await cancel(a, triggered);
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'triggered', 'skipped', 'on_time']);
  });

  it('fires where the job of the last firing is gone', async () => {
    const queue = newQueue();
    const id = await daily(queue);
    await pass(id);
    const [{ job_id: job }] = (await desk.firings(id)) as unknown as [{ job_id: string }];
    await cancel(a, job);
    await database.query('DELETE FROM millrace.done WHERE id = $1', [job]);
    await database.query('DELETE FROM millrace.jobs WHERE id = $1', [job]);
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'on_time']);
  });
});

describe('a schedule that may overlap', () => {
  it('fires whatever runs, and can be changed to skip and back', async () => {
    const queue = newQueue();
    const id = await desk.put(`turn-${queue}`, { cron_expr: '@daily', queue });
    expect(await desk.get(id)).toMatchObject({ overlap: 'allow' });
    await pass(id);
    await pass(id);
    await desk.put(`turn-${queue}`, { cron_expr: '@daily', queue, overlap: 'skip' });
    await pass(id);
    await desk.put(`turn-${queue}`, { cron_expr: '@daily', queue, overlap: 'allow' });
    await pass(id);
    expect(await kinds(id)).toEqual(['on_time', 'on_time', 'skipped', 'on_time']);
  });

  it('takes no other word', async () => {
    const { status, body } = await a.post('/api/v1/cron', {
      ...{ name: 'other', task_name: 't', cron_expr: '@daily', overlap: 'queue' },
    });
    expect([status, body.details[0].path]).toEqual([400, 'overlap']);
  });
});
