import { describe, expect, it } from 'vitest';
import { startTestServer, useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import * as kit from '../kit.js';
import { complete, createJob, createJobs, fail, lease, leaseOne, newQueue, stats, waitFor } from '../kit.js';

describe('GET /api/v1/queues', async () => {
  const { a, b, admin, worker, database } = await useTestServer({ config: { workers: 2 } });
  const queues = async (client = a): Promise<Record<string, unknown>[]> =>
    (await client.get('/api/v1/queues')).body.queues as Record<string, unknown>[];
  const depthOf = async (queue: string) => (await queues()).find((depth) => depth.queue === queue);

  it('counts what is claimable, scheduled and running, and how old the oldest is', async () => {
    const queue = newQueue();
    await createJobs(a, queue, 3, { retry_delay_secs: 3600 });
    await createJob(a, queue, { run_at: kit.inSeconds(3600) });
    await createJob(a, queue, { run_at: kit.inSeconds(-120) });
    await createJob(b, queue);
    const depth = await depthOf(queue);
    expect(depth).toEqual({
      queue,
      pending: 4,
      scheduled: 1,
      running: 0,
      oldest_pending_age_secs: expect.any(Number),
      retrying: 0,
      retrying_later: 0,
      paused_at: null,
      paused_reason: null,
      paused_by: null,
      last_lease_at: null,
      settings: null,
    });
    expect(Number.isInteger(depth!.oldest_pending_age_secs)).toBe(true);
    expect(depth!.oldest_pending_age_secs).toBeGreaterThanOrEqual(0);

    const leased = await lease(worker, queue, { max_jobs: 2 });
    expect(await depthOf(queue)).toMatchObject({
      pending: 2,
      scheduled: 1,
      running: 2,
      last_lease_at: expect.stringMatching(/Z$/),
      settings: null,
    });
    // One waits for its retry, one has ended.
    await fail(
      worker,
      leased.find(({ job }) => job.config.retry_delay_secs === 3600)!,
    );
    await complete(
      worker,
      leased.find(({ job }) => job.config.retry_delay_secs !== 3600)!,
    );
    expect(await depthOf(queue)).toMatchObject({
      pending: 2,
      scheduled: 2,
      running: 0,
      retrying: 1,
      retrying_later: 1,
    });
    expect((await queues(b)).find((depth) => depth.queue === queue)).toMatchObject({
      pending: 1,
      scheduled: 0,
      running: 0,
    });
  });

  it('has no age if nothing can be claimed, and omits an empty queue', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { run_at: kit.inSeconds(3600) });
    expect(await depthOf(queue)).toEqual({
      queue,
      pending: 0,
      scheduled: 1,
      running: 0,
      oldest_pending_age_secs: null,
      retrying: 0,
      retrying_later: 0,
      paused_at: null,
      paused_reason: null,
      paused_by: null,
      last_lease_at: null,
      settings: null,
    });
    await kit.cancel(a, id);
    expect(await depthOf(queue)).toBeUndefined();
    const names = (await queues()).map((depth) => String(depth.queue));
    expect(names).toEqual([...names].sort());
  });

  it('lists what is idle only to those who ask, as far as series name it', async () => {
    const [queue, held] = [newQueue(), newQueue()];
    // What a server did has names once it is written, at the latest when it stops.
    const other = await startTestServer({ config: { mode: 'api' }, database });
    await kit.cancel(other.a, await createJob(other.a, queue));
    await createJobs(other.a, held, 2);
    const steps = [{ name: 'asked', wait: { signal: 'go', timeout_secs: 60 } }];
    const asking = await other.a.post('/api/v1/workflows', { name: 'w', steps });
    expect(asking.status, asking.text).toBe(201);
    expect((await other.a.post(`/api/v1/workflows/${asking.body.workflow_id}/cancel`)).status).toBe(204);
    await other.stop();

    const list = async (query: string, client = a): Promise<Record<string, unknown>[]> => {
      const reply = await client.get(`/api/v1/queues${query}`);
      expect(reply.status, reply.text).toBe(200);
      return reply.body.queues as Record<string, unknown>[];
    };
    const named = (queues: readonly Record<string, unknown>[], name: string) =>
      queues.filter((depth) => depth.queue === name);
    const idle = {
      ...{ queue, pending: 0, scheduled: 0, running: 0, retrying: 0, retrying_later: 0 },
      ...{ oldest_pending_age_secs: null, paused_at: null, paused_reason: null, paused_by: null },
      ...{ last_lease_at: null, settings: null },
    };
    expect(named(await list('?idle=true'), queue)).toEqual([idle]);
    expect(named(await list('?idle=true'), held)).toMatchObject([{ pending: 2 }]);
    // Nobody named the queue of steps that wait.
    expect(named(await list('?idle=true'), 'millrace:waits')).toEqual([]);
    for (const query of ['', '?idle=false']) expect(named(await list(query), queue)).toEqual([]);
    const plain = (await a.get('/api/v1/queues')).text;
    expect((await a.get('/api/v1/queues?idle=false')).text).toBe(plain);
    expect(named(await list('?idle=true', b), queue)).toEqual([]);

    expect((await admin.post(`/api/v1/admin/queues/${queue}/pause`, { reason: 'why not' })).status).toBe(204);
    await lease(worker, queue);
    expect(named(await list('?idle=true'), queue)).toEqual([
      {
        ...idle,
        paused_at: expect.stringMatching(/Z$/),
        paused_reason: 'why not',
        paused_by: 'admin',
        last_lease_at: expect.stringMatching(/Z$/),
      },
    ]);
    await createJob(a, queue);
    expect(named(await list('?idle=true'), queue)).toEqual(named(await list(''), queue));
    expect((await a.get('/api/v1/queues?idle=perhaps')).status).toBe(400);
  });

  it('GET /api/v1/stats counts everything this process did for the tenant once', async () => {
    const queue = newQueue();
    const [before, others] = [await stats(a), await stats(b)];
    await createJobs(a, queue, 3, { retry_delay_secs: 0, max_retries: 1 });
    const keyed = { 'idempotency-key': queue };
    for (let i = 0; i < 3; i++) await a.post('/api/v1/jobs', { task_name: 'echo' }, keyed);
    const [one, two, three] = await lease(worker, queue, { max_jobs: 3 });
    await complete(worker, one!);
    await complete(worker, one!);
    await fail(worker, two!);
    await fail(worker, await leaseOne(worker, queue));
    await kit.cancel(a, three!.job.id);
    await kit.cancel(a, three!.job.id);
    const [letter] = await kit.deadLettersOf(a, two!.job.id);
    await a.post(`/api/v1/dlq/${letter!.id}/replay`);
    await waitFor(a, (await a.post('/api/v1/jobs', { task_name: 'unknown' })).body.job_id, 'failed');
    await waitFor(a, (await a.post('/api/v1/jobs', { task_name: 'echo' }, keyed)).body.job_id, 'completed');
    // What the pool ends is seen in the database a moment before it is counted.
    const completed = async (): Promise<number> => (await stats(a)).jobs_completed! - before.jobs_completed!;
    const failed = async (): Promise<number> => (await stats(a)).jobs_failed! - before.jobs_failed!;
    await until(async () => (await completed()) >= 2 && (await failed()) >= 2, { what: 'the ends to be counted' });
    const after = await stats(a);
    const counted = Object.fromEntries(Object.entries(after).map(([name, n]) => [name, n - before[name]!]));
    expect(counted).toEqual({
      jobs_created: 3 + 1 + 1 + 1,
      jobs_completed: 2,
      jobs_failed: 2,
      jobs_retried: 1,
      jobs_dead_lettered: 2,
      jobs_cancelled: 1,
      workflows_created: 0,
      workflows_completed: 0,
      workflows_failed: 0,
    });
    expect(await stats(b)).toEqual(others);
  });
});
