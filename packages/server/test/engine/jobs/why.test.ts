import { randomUUID } from 'node:crypto';
import { WALK_LIMIT, type Why } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer, WORKER_TOKEN } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import * as kit from '../kit.js';
import { createJob, createJobs, lease, leaseOne, newQueue } from '../kit.js';

describe('GET /jobs/{id}/why', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { workers: 1 } });
  const { a, b, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  const why = async (id: string): Promise<Why> => {
    const reply = await a.get(`/api/v1/jobs/${id}/why`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body as Why;
  };
  /** A queue on which a worker has just asked for jobs. */
  const attended = async (): Promise<string> => {
    const queue = newQueue();
    await lease(worker, queue);
    return queue;
  };

  it('says when a job is due that is not due yet', async () => {
    const queue = await attended();
    const id = await createJob(a, queue, { run_at: kit.inSeconds(3600) });
    const { scheduled_at } = await kit.getJob(a, id);
    expect(await why(id)).toEqual({
      reason: 'due_later',
      message: `The job is due at ${scheduled_at}.`,
      until: scheduled_at,
    });
  });

  it('says when the next attempt is due', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { retry_delay_secs: 3600 } });
    await kit.fail(worker, await leaseOne(worker, queue));
    const { scheduled_at } = await kit.getJob(a, id);
    expect(await why(id)).toEqual({
      reason: 'retry_backoff',
      message: `Attempt 1 failed; the next one is due at ${scheduled_at}.`,
      until: scheduled_at,
    });
  });

  it('says that it runs, since when and until when', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const { job } = await leaseOne(worker, queue, { lease_secs: 600 });
    const { reason, message, until: end } = await why(id);
    expect(reason).toBe('running');
    expect(message).toMatch(/has been running attempt 1 since .*; its lease expires at .* unless it is extended\.$/);
    expect(message).toContain(String(job.started_at));
    expect(Date.parse(end!) - Date.parse(job.started_at!)).toBe(600_000);
  });

  it('says that it has ended, and how', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    await kit.cancel(a, id);
    const { completed_at } = await kit.getJob(a, id);
    expect(await why(id)).toEqual({ reason: 'ended', message: `The job was cancelled at ${completed_at}.` });
  });

  it('says that no worker asks for jobs of the queue, or no longer does', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    expect(await why(id)).toEqual({
      reason: 'no_worker',
      message: `The job is due, but no worker asks for jobs of the queue "${queue}".`,
    });
    await database.query(`INSERT INTO millrace.queues (queue, last_lease_at) VALUES ($1, now() - interval '1 hour')`, [
      queue,
    ]);
    const { reason, message, last_lease_at } = await why(id);
    expect([reason, message]).toEqual(['no_worker', expect.stringContaining(`since ${last_lease_at}`)]);
  });

  it('counts the jobs of all tenants that are ahead of it', async () => {
    const queue = await attended();
    const [low] = await createJobs(a, queue, 1, { priority: -5 });
    const ids = await createJobs(a, queue, 3);
    await createJobs(b, queue, 2, { priority: 9 });
    // Not due when it was created, and due now.
    await createJob(b, queue, { run_at: kit.inSeconds(10), config: { priority: 9 } });
    await createJob(b, queue, { run_at: kit.inSeconds(7200), config: { priority: 9 } });
    await clock.advance(11);
    const { last_lease_at: _, ...first } = await why(ids[0]!);
    expect(first).toEqual({
      reason: 'behind',
      message: `3 jobs are ahead of it on the queue "${queue}".`,
      ahead: 3,
    });
    expect(await why(ids[2]!)).toMatchObject({ reason: 'behind', ahead: 5, last_lease_at: expect.any(String) });
    expect((await why(low!)).ahead).toBe(6);
    const [next] = await createJobs(a, queue, 1, { priority: 10 });
    expect(await why(next!)).toMatchObject({ ahead: 0, message: `The job is next on the queue "${queue}".` });
  });

  it('counts no further than it must', async () => {
    const queue = await attended();
    const id = await createJob(a, queue, { config: { priority: -1 } });
    await database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now() - interval '1 hour', n % 3, 0, 0, gen_random_uuid(), 'somebody', $1
       FROM generate_series(1, $2::int) AS n`,
      [queue, WALK_LIMIT + 10],
    );
    expect(await why(id)).toMatchObject({
      ahead: WALK_LIMIT,
      message: `At least ${WALK_LIMIT} jobs are ahead of it on the queue "${queue}".`,
    });
    await database.query('DELETE FROM millrace.ready WHERE tenant = $1', ['somebody']);
  });

  it('counts the pool of a server among the workers of its queue', async () => {
    const sleeping = await createJob(a, 'default', { task_name: 'sleep', payload: { seconds: 600 } });
    await kit.waitFor(a, sleeping, 'running');
    const id = await createJob(a, 'default', { task_name: 'echo' });
    expect(await why(id)).toMatchObject({ reason: 'behind', ahead: 0 });
    await kit.cancel(a, sleeping);
    await kit.waitFor(a, id, 'completed');
  });

  it('says that its queue is paused, whenever it is due', async () => {
    const queue = newQueue();
    await database.query('INSERT INTO millrace.queues (queue, paused_at) VALUES ($1, now())', [queue]);
    const ids = [await createJob(a, queue), await createJob(a, queue, { run_at: kit.inSeconds(3600) })];
    const [depth] = ((await a.get('/api/v1/queues')).body.queues as { queue: string; paused_at: string }[]).filter(
      (each) => each.queue === queue,
    );
    for (const id of ids) {
      expect(await why(id)).toEqual({
        reason: 'queue_paused',
        message: `The operator has paused the queue "${queue}" at ${depth!.paused_at}.`,
      });
    }
  });

  it('refuses as a read of the job does', async () => {
    const id = await createJob(b, newQueue());
    expect((await a.get(`/api/v1/jobs/${id}/why`)).status).toBe(403);
    expect((await a.get(`/api/v1/jobs/${randomUUID()}/why`)).status).toBe(404);
    expect((await a.get('/api/v1/jobs/nonsense/why')).status).toBe(404);
    expect((await worker.get(`/api/v1/jobs/${id}/why`)).status).toBe(401);
  });

  it('knows of workers that asked another process, also by a long poll that waits', async () => {
    const other = await startAnotherServer(database, { mode: 'api' });
    const queue = newQueue();
    const leaving = new AbortController();
    const poll = createClient(other.apiUrl!, WORKER_TOKEN)
      .send('POST', `/api/v1/queues/${queue}/lease`, { body: { wait_secs: 30 }, signal: leaving.signal })
      .catch(() => null);
    const noticed = (): Promise<unknown> =>
      database.query('SELECT FROM millrace.queues WHERE queue = $1', [queue]).then((rows) => rows.length > 0);
    await until(noticed, { what: 'the poll to be noted' });
    leaving.abort();
    await poll;
    const id = await createJob(a, queue);
    expect(await why(id)).toMatchObject({ reason: 'behind', ahead: 0, last_lease_at: expect.any(String) });
    await other.stop();
  });
});
