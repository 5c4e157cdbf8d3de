import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { createJobs, getJob, idsOf, lease, listAll, newQueue } from '../kit.js';

describe('a batch', async () => {
  const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
  const batch = (jobs: unknown) => a.post('/api/v1/jobs/batch', { jobs });
  const items = (queue: string, count: number): object[] =>
    Array.from({ length: count }, (_, n) => ({ task_name: 't', payload: { n }, config: { queue } }));

  it('of a thousand is created in the order of the request', async () => {
    const queue = newQueue();
    const reply = await batch(items(queue, 1000));
    expect(reply.status).toBe(201);
    expect(reply.body.count).toBe(1000);
    const ids = reply.body.job_ids as string[];
    expect(new Set(ids).size).toBe(1000);
    const listed = await listAll(a, `queue=${queue}&limit=100&order_by=created_at ASC`);
    expect(listed.map((job) => job.id)).toEqual(ids);
    expect(listed.map((job) => job.payload.n)).toEqual(Array.from({ length: 1000 }, (_, n) => n));
    expect(new Set(listed.map((job) => job.created_at)).size).toBe(1);
  });

  it('is claimed in the order of the request', async () => {
    const queue = newQueue();
    const ids = await createJobs(a, queue, 250);
    const leased: string[] = [];
    while (leased.length < 250) leased.push(...idsOf(await lease(worker, queue, { max_jobs: 60 })));
    expect(leased).toEqual(ids);
  });

  it('of more than a thousand jobs, or of none, is refused', async () => {
    const queue = newQueue();
    expect((await batch(items(queue, 1001))).status).toBe(400);
    expect((await batch([])).status).toBe(400);
    expect((await batch({})).status).toBe(400);
    expect((await a.post('/api/v1/jobs/batch', {})).status).toBe(400);
    expect(await listAll(a, `queue=${queue}`)).toEqual([]);
  });

  it.each([
    { task_name: '' },
    { task_name: 't', payload: [] },
    { task_name: 't', config: { max_retries: 1001 } },
    { task_name: 't', run_at: 'soon' },
    { task_name: 't', config: { timeout: 1, timeout_secs: 2 } },
    null,
    'x',
  ])('with one bad item among a thousand stores nothing and names it: %j', async (bad) => {
    const queue = newQueue();
    const jobs: unknown[] = items(queue, 1000);
    jobs[613] = bad;
    const reply = await batch(jobs);
    expect(reply.status).toBe(400);
    expect(reply.body.details[0].path).toContain('613');
    expect(reply.body.error).toContain('613');
    expect((await a.get(`/api/v1/jobs?queue=${queue}&include_total=true`)).body.total).toBe(0);
  });

  it('with one item that the database rejects leaves nothing behind', async () => {
    const queue = newQueue();
    await database.query(`ALTER TABLE millrace.ready ADD CONSTRAINT no_poison CHECK (queue NOT LIKE 'poison-%')`);
    const jobs = items(queue, 10);
    jobs[7] = { task_name: 't', config: { queue: `poison-${queue}` } };
    expect((await batch(jobs)).status).toBe(500);
    expect((await a.get(`/api/v1/jobs?queue=${queue}&include_total=true`)).body.total).toBe(0);
    expect(await lease(worker, queue)).toEqual([]);
    await database.query('ALTER TABLE millrace.ready DROP CONSTRAINT no_poison');
  });

  it('honours the configuration, the instant and the queue of each item', async () => {
    const [here, there] = [newQueue(), newQueue()];
    const reply = await batch([
      { task_name: 'one', config: { queue: here, priority: 1 }, metadata: { m: 1 } },
      { task_name: 'two', config: { queue: there, timeout: 5 }, run_at: '2999-01-01T00:00:00Z' },
      { task_name: 'three' },
      { task_name: 'four', config: { queue: here, priority: 9 } },
    ]);
    const [one, two, three, four] = reply.body.job_ids as [string, string, string, string];
    expect(await getJob(a, one)).toMatchObject({ task_name: 'one', queue_name: here, metadata: { m: 1 } });
    expect(await getJob(a, two)).toMatchObject({ queue_name: there, scheduled_at: '2999-01-01T00:00:00Z' });
    expect((await getJob(a, two)).config).toEqual({ ...DEFAULT_JOB_CONFIG, timeout_secs: 5 });
    expect(await getJob(a, three)).toMatchObject({ queue_name: 'default', config: DEFAULT_JOB_CONFIG });
    expect(idsOf(await lease(worker, here, { max_jobs: 10 }))).toEqual([four, one]);
    expect(await lease(worker, there)).toEqual([]);
  });

  it('honours all of it where no two items are of one kind', async () => {
    const queue = newQueue();
    const all = Array.from({ length: 200 }, (_, n) => ({
      task_name: `task-${n}`,
      payload: { n },
      ...(n % 5 === 0 ? { metadata: { n } } : {}),
      ...(n % 7 === 0 ? { run_at: `2999-01-01T00:00:${String(n % 60).padStart(2, '0')}Z` } : {}),
      config: { queue, priority: n, max_retries: n % 3 },
    }));
    const ids = (await batch(all)).body.job_ids as string[];
    for (const n of [0, 70, 105, 199]) {
      expect(await getJob(a, ids[n]!)).toMatchObject({
        task_name: `task-${n}`,
        payload: { n },
        metadata: n % 5 === 0 ? { n } : {},
        config: { ...DEFAULT_JOB_CONFIG, priority: n, max_retries: n % 3 },
        ...(n % 7 === 0 ? { scheduled_at: all[n]!.run_at } : {}),
      });
    }
    const due = ids.filter((_, n) => n % 7 !== 0).reverse();
    expect(idsOf(await lease(worker, queue, { max_jobs: 100 }))).toEqual(due.slice(0, 100));
  });

  it('takes one idempotency key for all of it; its jobs do not carry it', async () => {
    const headers = { 'idempotency-key': 'k' };
    const body = { jobs: items(newQueue(), 2) };
    const [first, second] = [
      await a.post('/api/v1/jobs/batch', body, headers),
      await a.post('/api/v1/jobs/batch', body, headers),
    ];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await getJob(a, first.body.job_ids[0])).toMatchObject({ idempotency_key: null });
  });

  it('may be megabytes large', async () => {
    const queue = newQueue();
    const text = 'x'.repeat(5_000);
    const jobs = items(queue, 1000).map((item) => ({ ...item, payload: { text } }));
    expect((await batch(jobs)).body.count).toBe(1000);
    const [leased] = await lease(worker, queue, { max_jobs: 100 });
    expect(leased?.job.payload).toEqual({ text });
  });
});
