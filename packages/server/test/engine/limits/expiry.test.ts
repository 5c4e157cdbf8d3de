import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { violationsIn } from '../../support/violations.js';
import { suspend } from '../durable/kit.js';
import * as kit from '../kit.js';
import { complete, createJob, fail, idsOf, lease, leaseOne, newQueue, SWEEP_OFTEN, type Leased } from '../kit.js';
import { inTime, leaseNext, LONGEST_WAIT_SECS } from '../waiting.js';

const EXPIRED = {
  status: 'cancelled',
  error_message: 'expired before it started',
  delivery_count: 0,
  started_at: null,
};

describe('jobs that expire', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  await clock.freeze();
  const server = await startTestServer({ database, config: { workers: 1 }, intervals: SWEEP_OFTEN });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });
  const inSecs = async (secs: number): Promise<string> =>
    new Date((await clock.now()).getTime() + secs * 1000).toISOString();
  const expired = async (id: string): Promise<void> => {
    await kit.waitFor(a, id, 'cancelled');
    expect(await kit.getJob(a, id)).toMatchObject(EXPIRED);
  };

  it.each<[string, () => Promise<object>]>([
    ['seconds', async () => ({ expires_secs: 60 })],
    ['an instant', async () => ({ expires_at: await inSecs(60) })],
  ])('are handed out until then, never afterwards, and end as cancelled: by %s', async (_, expiry) => {
    const queue = newQueue();
    const config = await expiry();
    const ids = [await createJob(a, queue, { config }), await createJob(a, queue, { config })];
    const shown = await kit.getJob(a, ids[0]!);
    if ('expires_at' in config)
      expect(Date.parse(shown.config.expires_at!)).toBe(Date.parse(config.expires_at as string));
    else expect(shown.config).toMatchObject(config);
    await clock.advance(50);
    const leased = await leaseOne(worker, queue);
    const early = leased.job.id;
    const late = ids.find((id) => id !== early)!;
    await clock.advance(11);
    expect(await lease(worker, queue)).toEqual([]);
    await expired(late);
    expect((await complete(worker, leased)).status).toBe(204);
    expect((await kit.getJob(a, early)).status).toBe('completed');
  });

  it('do not once they have been delivered: not in a retry, not when released, and not asleep', async () => {
    const queue = newQueue();
    const config = { expires_secs: 60, retry_delay_secs: 120, jitter_factor: 0 };
    const ids = await kit.createJobs(a, queue, 3, config);
    const [first, second, third] = await lease(worker, queue, { max_jobs: 3 });
    await fail(worker, first!);
    await kit.report(worker, 'release', second!, { delay_secs: 120 });
    expect((await suspend(worker, third!, { checkpoint: 'pause', delay_secs: 120 })).status).toBe(204);
    await clock.advance(121);
    const again: Leased[] = [];
    while (again.length < 3) again.push(await leaseNext(worker, queue));
    expect(idsOf(again).sort()).toEqual(ids.sort());
    for (const each of again) await complete(worker, each);
  });

  it('expire although they are not due yet, wait for room, or were made due by hand', async () => {
    const queue = newQueue();
    const limits = [{ key: 'k', running: 1 }];
    const running = await createJob(a, queue, { config: { limits, expires_secs: 60 } });
    const held = await leaseOne(worker, queue);
    expect(held.job.id).toBe(running);
    const waiting = await createJob(a, queue, { config: { limits, expires_secs: 60 } });
    const delayed = await createJob(a, queue, { config: { expires_secs: 60 }, delay_secs: 50 });
    const byHand = await createJob(a, queue, { config: { expires_secs: 60 }, delay_secs: 55 });
    expect((await a.post(`/api/v1/jobs/${byHand}/run-now`)).status).toBe(204);
    const far = await createJob(a, queue, { config: { expires_at: await inSecs(60) }, delay_secs: 3600 });
    await clock.advance(61);
    for (const id of [waiting, delayed, byHand, far]) await expired(id);
    await complete(worker, held);
  });

  it('give back the room that they were let in with', async () => {
    const queue = newQueue();
    const limits = [{ key: 'k', running: 1 }];
    const admitted = await createJob(a, queue, { config: { limits, expires_secs: 60 } });
    const behind = await createJob(a, queue, { config: { limits } });
    await clock.advance(61);
    await expired(admitted);
    const leased = await leaseNext(worker, queue);
    expect(leased.job.id).toBe(behind);
    await complete(worker, leased);
    expect(await violationsIn(database)).toEqual([]);
  });

  it('copies count the seconds anew, and drop the instant', async () => {
    const queue = newQueue();
    const secs = await createJob(a, queue, { config: { expires_secs: 60 } });
    const at = await createJob(a, queue, { config: { expires_at: await inSecs(60), priority: -1 } });
    for (const leased of await lease(worker, queue, { max_jobs: 2 })) await fail(worker, leased, { retryable: false });
    await clock.advance(30);
    const copies: string[] = [];
    for (const id of [secs, at]) {
      const [letter] = await kit.deadLettersOf(a, id);
      copies.push((await a.post(`/api/v1/dlq/${letter!.id}/replay`)).body.job_id);
      copies.push((await a.post(`/api/v1/jobs/${id}/rerun`)).body.job_id);
    }
    await clock.advance(50);
    for (const id of copies.slice(0, 2)) expect(await kit.getJob(a, id)).toMatchObject({ status: 'pending' });
    for (const id of copies.slice(2)) {
      const { config } = await kit.getJob(a, id);
      expect(config).not.toHaveProperty('expires_at');
      expect(config.priority).toBe(-1);
    }
    await clock.advance(11);
    for (const id of copies.slice(0, 2)) await expired(id);
    expect(idsOf(await lease(worker, queue, { max_jobs: 9 })).sort()).toEqual(copies.slice(2).sort());
  });

  it('schedules make jobs that expire', async () => {
    const queue = newQueue();
    const schedule = { name: queue, cron_expr: '0 0 1 1 *', task_name: 'task', queue, config: { expires_secs: 60 } };
    const cron = await a.post('/api/v1/cron', schedule);
    expect(cron.status, cron.text).toBe(201);
    const fired = await a.post(`/api/v1/cron/${cron.body.cron_id}/trigger`);
    await clock.advance(61);
    await expired(fired.body.job_id);
    expect((await a.post(`/api/v1/cron/${cron.body.cron_id}/pause`)).status).toBe(204);
  });

  it('tell whoever waits or watches that they have ended', async () => {
    await inTime(LONGEST_WAIT_SECS, async () => {
      const id = await createJob(a, newQueue(), { config: { expires_secs: 60 } });
      const ended = a.get(`/api/v1/jobs/${id}?wait_secs=30`);
      await clock.advance(61);
      expect((await ended).body).toMatchObject(EXPIRED);
    });
  });

  it.each<[string, object, string]>([
    ['both fields', { config: { expires_secs: 9, expires_at: '2030-01-01T00:00:00Z' } }, 'config.expires_at'],
    ['no time at all', { config: { expires_secs: 0 } }, 'config.expires_secs'],
    ['more than a year', { config: { expires_secs: 31_536_001 } }, 'config.expires_secs'],
    ['what is no instant', { config: { expires_at: 'soon' } }, 'config.expires_at'],
    ['an end before the start', { config: { expires_secs: 60 }, delay_secs: 60 }, 'config.expires_secs'],
    [
      'an end before its instant',
      { config: { expires_at: '2030-01-01T00:00:00Z' }, run_at: '2030-01-01T01:00:00+01:00' },
      'config.expires_at',
    ],
  ])('refuse %s', async (_, fields, path) => {
    const reply = await a.post('/api/v1/jobs', { task_name: 'task', ...fields });
    expect(reply.status, reply.text).toBe(400);
    expect(reply.text).toContain(path);
  });

  it('are none of the steps of workflows, nor of schedules by an instant', async () => {
    const step = { name: 's', task_name: 'task', config: { expires_secs: 60 } };
    const workflow = await a.post('/api/v1/workflows', { name: 'w', steps: [step] });
    expect(workflow.text).toContain('steps[0].config.expires_secs');
    const schedule = { name: 'n', cron_expr: '* * * * *', task_name: 't', config: { expires_at: await inSecs(9) } };
    const cron = await a.post('/api/v1/cron', schedule);
    expect(cron.text).toContain('config.expires_at');
    expect([workflow.status, cron.status]).toEqual([400, 400]);
  });
});
