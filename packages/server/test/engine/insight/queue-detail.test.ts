import { WALK_LIMIT, type QueueDetail } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, createJobs, fail, lease, leaseOne, newQueue } from '../kit.js';

describe('GET /queues/{queue}', async () => {
  const { a, b, worker, admin, nobody, database } = await useTestServer({ config: { mode: 'api' } });
  const path = (queue: string): string => `/api/v1/queues/${encodeURIComponent(queue)}`;
  const detail = async (queue: string, client = a): Promise<QueueDetail> => {
    const reply = await client.get(path(queue));
    expect(reply.status, reply.text).toBe(200);
    return reply.body as QueueDetail;
  };
  const fillFor = (tenant: string, queue: string, n: number): Promise<unknown> =>
    database.query(
      `INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
       SELECT now() - interval '1 hour', 9, 0, 0, gen_random_uuid(), $1, $2 FROM generate_series(1, $3::int)`,
      [tenant, queue, n],
    );

  it('says how deep it is and what waits and runs by task, the largest first', async () => {
    const queue = 'images / ü';
    await createJobs(a, queue, 2);
    for (let n = 0; n < 3; n++) await createJob(a, queue, { task_name: 'resize', config: { priority: -1 } });
    await createJob(a, queue, { task_name: 'later', delay_secs: 3600 });
    await createJob(a, newQueue(), { task_name: 'elsewhere' });
    await createJobs(b, queue, 4);
    await fail(worker, await leaseOne(worker, queue));
    await lease(worker, queue);
    const found = await detail(queue);
    expect(found).toMatchObject({ queue, pending: 3, scheduled: 2, running: 1, retrying: 1, retrying_later: 1 });
    expect(found.paused_at).toBeNull();
    expect(found.last_lease_at).toEqual(expect.any(String));
    expect(found.oldest_pending_age_secs).toBeGreaterThanOrEqual(0);
    expect(found.by_task).toEqual([
      { task_name: 'resize', waiting: 3, scheduled: 0, retrying: 0, retrying_later: 0, running: 0 },
      { task_name: 'task', waiting: 0, scheduled: 1, retrying: 1, retrying_later: 1, running: 1 },
      { task_name: 'later', waiting: 0, scheduled: 1, retrying: 0, retrying_later: 0, running: 0 },
    ]);
    // The same jobs in the same states as in the depth.
    const all = (count: 'waiting' | 'scheduled' | 'running') => found.by_task.reduce((n, task) => n + task[count], 0);
    expect([all('waiting'), all('scheduled'), all('running')]).toEqual([3, 2, 1]);
    expect(found.by_task_exact).toBe(true);
  });

  it("shows the caller's first twenty jobs in the order in which they are claimed", async () => {
    const queue = newQueue();
    const soon = await createJob(a, queue, { delay_secs: 1, config: { priority: 3 } });
    const low = await createJobs(a, queue, 20);
    await createJobs(b, queue, 5, { priority: 8 });
    const [high] = await createJobs(a, queue, 1, { priority: 5 });
    const far = await createJob(a, queue, { delay_secs: 7200, config: { priority: 9 } });
    const near = await createJob(a, queue, { delay_secs: 3600 });
    const isDue = 'SELECT FROM millrace.ready WHERE id = $1 AND scheduled_at <= now()';
    await until(async () => (await database.query(isDue, [soon])).length === 1, { what: 'the job to fall due' });
    const { next } = await detail(queue);
    expect(next.map(({ id }) => id)).toEqual([high, soon, ...low.slice(0, 18)]);
    expect(next[0]).toEqual({ id: high, task_name: 'task', priority: 5, scheduled_at: expect.any(String) });
    // What is claimed is what was shown, but for the other tenant's.
    const claimed = await lease(worker, queue, { max_jobs: 24 });
    const own = claimed.map(({ job }) => job).filter(({ tenant_id: tenant }) => tenant === 'tenant-a');
    expect(own.map(({ id }) => id)).toEqual(next.map(({ id }) => id).slice(0, own.length));
    await lease(worker, queue, { max_jobs: 100 });
    expect((await detail(queue)).next.map(({ id }) => id)).toEqual([near, far]);
  });

  it('is all zeros without jobs of the caller, and tells whether it is paused', async () => {
    const queue = newQueue();
    await createJobs(b, queue, 2);
    const zeros = {
      pending: 0,
      scheduled: 0,
      running: 0,
      retrying: 0,
      retrying_later: 0,
      oldest_pending_age_secs: null,
    };
    const nothing = { queue, ...zeros, by_task: [], by_task_exact: true, next: [] };
    expect(await detail(queue)).toEqual({
      ...nothing,
      ...{ paused_at: null, paused_reason: null, paused_by: null },
      last_lease_at: null,
      settings: null,
      slots: null,
    });
    await admin.post(`/api/v1/admin/queues/${queue}/pause`);
    expect(await detail(queue)).toEqual({
      ...nothing,
      ...{ paused_at: expect.any(String), paused_reason: null, paused_by: 'admin' },
      last_lease_at: null,
      settings: null,
      slots: null,
    });
    expect(await detail(queue, b)).toMatchObject({ pending: 2, paused_at: expect.any(String) });
    expect((await detail(queue, b)).next).toHaveLength(2);
  });

  it('counts and walks no further than it must, and says so', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    const id = await createJob(a, queue);
    // Beyond what is walked of the tenant's jobs, but not of the queue's.
    await fillFor('tenant-a', other, WALK_LIMIT + 1);
    expect(await detail(queue)).toMatchObject({
      by_task: [{ task_name: 'task', waiting: 1, scheduled: 0, running: 0 }],
      by_task_exact: true,
      next: [{ id }],
    });
    await fillFor('somebody', queue, WALK_LIMIT + 1);
    expect(await detail(queue)).toMatchObject({ pending: 1, by_task_exact: false, next: [] });
    await database.query(`DELETE FROM millrace.ready WHERE priority = 9`);
  });

  it('answers 304 while nothing has changed', async () => {
    const queue = newQueue();
    await createJob(a, queue, { delay_secs: 3600 });
    const tag = (await a.get(path(queue))).headers.get('etag')!;
    expect(tag).toMatch(/^W\//);
    expect((await a.get(path(queue), { 'if-none-match': tag })).status).toBe(304);
    await createJob(a, queue, { delay_secs: 3600 });
    expect((await a.get(path(queue), { 'if-none-match': tag })).status).toBe(200);
  });

  it('refuses a name that no queue can have, and other credentials', async () => {
    for (const name of ['x'.repeat(256), '\0']) expect((await a.get(path(name))).status).toBe(400);
    for (const client of [worker, admin, nobody]) expect((await client.get(path('q'))).status).toBe(401);
  });
});
