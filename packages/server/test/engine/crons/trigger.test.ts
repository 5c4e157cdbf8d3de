import { randomUUID } from 'node:crypto';
import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { lease, newQueue } from '../kit.js';
import { LONGEST_WAIT_SECS, inTime } from '../waiting.js';
import { advanceTo, cronsOf } from './harness.js';

/** Schedules that are fired by hand, beside a scheduler and a pool that run. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { workers: 2 } });
const desk = cronsOf(server.a);
afterAll(async () => {
  await server.stop();
  await database.drop();
});

describe('triggering', () => {
  it('enqueues the job now and leaves the timetable alone', async () => {
    const id = await desk.create({
      name: 'by hand',
      cron_expr: '@daily',
      payload: { n: 1 },
      config: { priority: 7 },
      queue: 'reports',
    });
    const before = await desk.get(id);
    const reply = await server.a.post(`/api/v1/cron/${id}/trigger`);
    expect([reply.status, Object.keys(reply.body)]).toEqual([201, ['job_id']]);
    expect(reply.headers.get('location')).toBe(`/api/v1/jobs/${reply.body.job_id}`);
    const [job, ...others] = await desk.jobs(id);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      id: reply.body.job_id,
      task_name: 'echo',
      queue_name: 'reports',
      payload: { n: 1 },
      status: 'pending',
      config: { ...DEFAULT_JOB_CONFIG, priority: 7 },
      metadata: { cron_id: id, cron_name: 'by hand' },
      idempotency_key: null,
      tenant_id: TENANT_A,
    });
    expect(job.metadata).not.toHaveProperty('cron_due_at');
    expect(job.scheduled_at).toBe(job.created_at);
    expect(await desk.get(id)).toEqual({ ...before, last_enqueued_at: job.created_at });
    expect(await desk.firings(id)).toEqual([
      { occurrence: job.created_at, fired_at: job.created_at, kind: 'triggered', job_id: job.id, workflow_id: null },
    ]);
  });

  it('does not take the place of the next occurrence, nor of another trigger', async () => {
    const id = await desk.create({ cron_expr: '@daily', queue: 'nobody' });
    const { next_run_at } = await desk.get(id);
    await Promise.all([desk.trigger(id), desk.trigger(id), desk.trigger(id)]);
    await advanceTo(clock, next_run_at);
    await until(async () => (await desk.firings(id)).length === 4, { what: 'the firing' });
    const kinds = (await desk.firings(id)).map((each) => each.kind);
    expect(kinds).toEqual(['on_time', 'triggered', 'triggered', 'triggered']);
    expect(new Set((await desk.jobs(id)).map((job) => job.id)).size).toBe(4);
  });

  it('works on a schedule that is paused, and leaves it paused', async () => {
    const id = await desk.create({ cron_expr: '@daily', queue: 'nobody' });
    await desk.act(id, 'pause');
    const before = await desk.get(id);
    await desk.trigger(id);
    expect(await desk.get(id)).toEqual({ ...before, last_enqueued_at: expect.any(String) });
    expect(await desk.jobs(id)).toHaveLength(1);
  });

  it('wakes the pool and a worker that waits, and is counted', async () => {
    const created = async () => (await server.a.get('/api/v1/stats')).body.jobs_created;
    // Other schedules were due as well, and what is fired is seen in the database a moment before it is counted.
    const isQuiet = async (): Promise<boolean> => {
      const due = await database.query('SELECT FROM millrace.crons WHERE enabled AND next_run_at <= test_clock.now()');
      const jobs = await database.query('SELECT FROM millrace.jobs WHERE tenant = $1', [TENANT_A]);
      return due.length === 0 && jobs.length === (await created());
    };
    await until(isQuiet, { what: 'all firings to be counted' });
    const before = await created();
    const pooled = await desk.trigger(await desk.create({ cron_expr: '@daily', payload: { hello: 'world' } }));
    await until(async () => (await server.a.get(`/api/v1/jobs/${pooled}`)).body.status === 'completed');
    let triggered = 0;
    await inTime(LONGEST_WAIT_SECS, async () => {
      const queue = newQueue();
      const remote = await desk.create({ cron_expr: '@daily', queue });
      const waiting = lease(server.worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      const id = await desk.trigger(remote);
      triggered++;
      expect((await waiting).map(({ job }) => job.id)).toEqual([id]);
    });
    expect(await created()).toBe(before + 1 + triggered);
  });

  it('is for the tenant of the schedule', async () => {
    const id = await desk.create({ cron_expr: '@daily', queue: 'nobody' });
    const status = async (client: typeof server.a, cron = id) =>
      (await client.post(`/api/v1/cron/${cron}/trigger`)).status;
    expect(await status(server.b)).toBe(403);
    expect(await status(server.a, randomUUID())).toBe(404);
    expect(await status(server.a, 'no-id')).toBe(404);
    expect(await status(server.nobody)).toBe(401);
    expect(await status(server.worker)).toBe(401);
    expect(await desk.jobs(id)).toEqual([]);
    expect(await desk.firings(id)).toEqual([]);
  });
});
