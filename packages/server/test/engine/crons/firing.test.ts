import { afterAll, describe, expect, it } from 'vitest';
import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { lease, newQueue } from '../kit.js';
import { LONGEST_WAIT_SECS, inTime } from '../waiting.js';
import { advanceTo, cronsOf } from './harness.js';

/** What schedules enqueue, on a server whose database clock the tests move. */
const database = await cloneDatabase();
const clock = await controlClock(database);
await clock.freeze();
const server = await startTestServer({ database, config: { workers: 2 } });
const polls = cronsOf(server.a);
afterAll(async () => {
  await server.stop();
  await database.drop();
});

/** Fires the next occurrence of a schedule by moving the clock to it. */
async function fireNext(id: string): Promise<string> {
  const before = await polls.get(id);
  await advanceTo(clock, before.next_run_at);
  await until(async () => (await polls.get(id)).next_run_at !== before.next_run_at, { what: 'the firing' });
  return before.next_run_at!;
}

describe('a firing', () => {
  it('is an ordinary job with everything the schedule says', async () => {
    const id = await polls.create({
      name: 'every "night"',
      cron_expr: '0 3 * * *',
      payload: { n: 12345, deep: [1] },
      config: { priority: 7, timeout: 20, max_retries: 0 },
      queue: 'reports',
    });
    const { next_run_at: following } = await polls.get(id);
    const occurrence = await fireNext(id);
    expect(occurrence).toBe(following);

    const [job, ...others] = await polls.jobs(id);
    expect(others).toEqual([]);
    expect(job).toMatchObject({
      task_name: 'echo',
      queue_name: 'reports',
      payload: { n: 12345, deep: [1] },
      status: 'pending',
      config: { ...DEFAULT_JOB_CONFIG, priority: 7, timeout_secs: 20, max_retries: 0 },
      metadata: { cron_id: id, cron_name: 'every "night"', cron_due_at: occurrence },
      idempotency_key: `millrace:cron:${id}:${occurrence}`,
      workflow_id: null,
      tenant_id: TENANT_A,
      retry_count: 0,
      delivery_count: 0,
    });
    expect(job.scheduled_at).toBe(job.created_at);

    const cron = await polls.get(id);
    expect(cron.enabled).toBe(true);
    expect(cron.last_enqueued_at).toBe(job.created_at);
    expect(Date.parse(cron.next_run_at!) - Date.parse(occurrence)).toBe(86_400_000);
    expect(await polls.firings(id)).toEqual([
      { occurrence, fired_at: job.created_at, kind: 'on_time', job_id: job.id, workflow_id: null },
    ]);
  });

  it('runs, retries and is dead-lettered like any job', async () => {
    const works = await polls.create({ cron_expr: '@hourly', payload: { hello: 'world' } });
    const fails = await polls.create({ cron_expr: '@hourly', task_name: 'fail', config: { max_retries: 0 } });
    await fireNext(works);
    const done = await until(async () => (await polls.jobs(works)).find((job) => job.status === 'completed'));
    expect(done.result).toEqual({ hello: 'world' });
    const failed = await until(async () => (await polls.jobs(fails)).find((job) => job.status === 'failed'));
    const letters = (await server.a.get('/api/v1/dlq')).body.dead_letters;
    expect(letters.map((letter: { job_id: string }) => letter.job_id)).toContain(failed.id);
  });

  it('reaches a waiting worker', async () => {
    await inTime(LONGEST_WAIT_SECS, async () => {
      const queue = newQueue();
      const id = await polls.create({ cron_expr: '@daily', queue });
      const waiting = lease(server.worker, queue, { wait_secs: LONGEST_WAIT_SECS });
      await fireNext(id);
      expect((await waiting).map(({ job }) => job.metadata.cron_id)).toEqual([id]);
    });
  });

  it('is counted', async () => {
    const created = async (): Promise<number> => (await server.a.get('/api/v1/stats')).body.jobs_created;
    const before = await created();
    await fireNext(await polls.create({ cron_expr: '@monthly', queue: 'nobody' }));
    // A firing is seen in the database a moment before it is counted.
    await until(async () => (await created()) > before, { what: 'the firing to be counted' });
    const metrics = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    expect(metrics).toMatch(/^millrace_cron_firings_total\{kind="on_time"\} [1-9]/m);
    expect(metrics).toMatch(/^millrace_cron_lag_seconds_count [1-9]/m);
    expect(metrics).toMatch(/^millrace_cron_lag_seconds_bucket\{le="1"\} [1-9]/m);
  });

  it('happens once, even if the schedule is set back', async () => {
    const id = await polls.create({ cron_expr: '@daily', queue: 'nobody' });
    const occurrence = await fireNext(id);
    const after = await polls.get(id);
    await database.query('UPDATE millrace.crons SET next_run_at = $2 WHERE id = $1', [id, occurrence]);
    // Wakes the scheduler, which nobody tells of this.
    await clock.advance(0);
    const again = await until(async () => {
      const cron = await polls.get(id);
      return cron.next_run_at === after.next_run_at && cron;
    });
    expect(again).toEqual(after);
    expect(await polls.jobs(id)).toHaveLength(1);
    expect(await polls.firings(id)).toHaveLength(1);
  });
});

describe('a schedule with years', () => {
  it('is disabled after its last occurrence, and has nothing to resume', async () => {
    const year = (await clock.now()).getUTCFullYear() + 1;
    const id = await polls.create({ cron_expr: `0 0 12 1 1,7 * ${year}`, queue: 'nobody' });
    await fireNext(id);
    expect(await polls.get(id)).toMatchObject({ enabled: true, next_run_at: `${year}-07-01T12:00:00Z` });
    await fireNext(id);
    const ended = await polls.get(id);
    expect(ended).toMatchObject({ enabled: false, next_run_at: null });
    await polls.act(id, 'resume');
    expect(await polls.get(id)).toEqual(ended);
    await polls.act(id, 'pause');
    expect((await server.a.get(`/api/v1/cron/${id}/next`)).body).toEqual({ next_run_at: [] });
    expect(await polls.jobs(id)).toHaveLength(2);
  });
});

describe('a paused schedule', () => {
  it('does not fire, and does not run missed occurrences when it is resumed', async () => {
    const paused = await polls.create({ cron_expr: '@hourly', queue: 'nobody' });
    const witness = await polls.create({ cron_expr: '@hourly', queue: 'nobody' });
    await polls.act(paused, 'pause');
    // Three occurrences pass; the other schedule proves that the scheduler saw each of them.
    for (let n = 0; n < 3; n++) await fireNext(witness);
    expect(await polls.jobs(paused)).toEqual([]);
    await polls.act(paused, 'resume');
    const resumed = await polls.get(paused);
    expect(resumed.next_run_at).toBe((await polls.get(witness)).next_run_at);
    await fireNext(witness);
    await until(async () => (await polls.firings(paused)).length > 0);
    const firings = await polls.firings(paused);
    expect(firings.map((firing) => [firing.occurrence, firing.kind])).toEqual([[resumed.next_run_at, 'on_time']]);
    expect(await polls.jobs(paused)).toHaveLength(1);
  });

  it('stays where it is when resumed without having been paused', async () => {
    const id = await polls.create({ cron_expr: '@hourly', queue: 'nobody' });
    await fireNext(id);
    const before = await polls.get(id);
    await polls.act(id, 'resume');
    expect(await polls.get(id)).toEqual(before);
    await fireNext(id);
    expect(await polls.jobs(id)).toHaveLength(2);
  });
});

describe('deleting a schedule', () => {
  it('keeps its jobs and deletes its firings', async () => {
    const id = await polls.create({ cron_expr: '@hourly', queue: 'nobody' });
    const witness = await polls.create({ cron_expr: '@hourly', queue: 'nobody' });
    await fireNext(id);
    expect((await server.a.delete(`/api/v1/cron/${id}`)).status).toBe(204);
    expect((await server.a.get(`/api/v1/cron/${id}`)).status).toBe(404);
    expect((await server.a.get(`/api/v1/cron/${id}/firings`)).status).toBe(404);
    await fireNext(witness);
    const jobs = await polls.jobs(id);
    expect(jobs.map((job) => job.status)).toEqual(['pending']);
    const left = await database.query('SELECT FROM millrace.cron_firings WHERE cron_id = $1', [id]);
    expect(left).toEqual([]);
  });
});

describe('downtime', () => {
  it('is caught up once, and the schedule resumes', async () => {
    const other = await cloneDatabase();
    const time = await controlClock(other);
    await time.freeze();
    const first = await startTestServer({ database: other });
    const before = cronsOf(first.a);
    const everyMinute = await before.create({ cron_expr: '* * * * *', queue: 'nobody' });
    const lastDay = `0 30 12 31 12 * ${(await time.now()).getUTCFullYear()}`;
    const ended = await before.create({ cron_expr: lastDay, queue: 'nobody' });
    const { next_run_at: missed } = await before.get(everyMinute);
    await first.stop();
    // Years of missed minutes.
    await time.advance(3 * 366 * 86_400);

    const second = await startTestServer({ database: other });
    const after = cronsOf(second.a);
    const [caughtUp] = await until(async () => {
      const firings = await after.firings(everyMinute);
      return firings.length > 0 && firings;
    });
    expect(caughtUp).toMatchObject({ occurrence: missed, kind: 'catch_up' });
    const { next_run_at: next, last_enqueued_at } = await after.get(everyMinute);
    expect(Date.parse(next!) - Date.parse(last_enqueued_at!)).toBeLessThanOrEqual(60_000);
    expect(next! > last_enqueued_at!).toBe(true);

    await advanceTo(time, next);
    await until(async () => (await after.firings(everyMinute)).length > 1);
    expect((await after.firings(everyMinute)).map((firing) => firing.kind)).toEqual(['on_time', 'catch_up']);
    expect(await after.jobs(everyMinute)).toHaveLength(2);

    // A schedule that ended while nobody was running is caught up too, and then disabled.
    expect(await after.firings(ended)).toMatchObject([{ kind: 'catch_up' }]);
    expect(await after.get(ended)).toMatchObject({ enabled: false, next_run_at: null });
    await second.stop();
    await other.drop();
  });
});
