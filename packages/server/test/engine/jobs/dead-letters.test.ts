import { afterAll, describe, expect, it } from 'vitest';
import { bucketOf } from '../../../src/domain/ids.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import {
  cancel,
  comparable,
  complete,
  createJob,
  deadLettersOf,
  fail,
  getJob,
  lease,
  leaseOne,
  newQueue,
} from '../kit.js';

describe('dead letters', async () => {
  const database = await cloneDatabase();
  const config = { mode: 'api' as const };
  const one = await startTestServer({ database, config });
  const two = await startTestServer({ database, config });
  const { a, worker } = one;
  afterAll(async () => {
    await Promise.all([one.stop(), two.stop()]);
    await database.drop();
  });

  const failed = async (
    queue: string,
    fields: Record<string, unknown> = {},
  ): Promise<{ id: string; letter: number }> => {
    const id = await createJob(a, queue, fields);
    await fail(worker, await leaseOne(worker, queue), { error: 'gave up', retryable: false });
    const [letter] = await deadLettersOf(a, id);
    return { id, letter: letter!.id };
  };

  it('say what failed, why and when', async () => {
    const queue = newQueue();
    const { id, letter } = await failed(queue, { task_name: 'send' });
    const { completed_at } = await getJob(a, id);
    const reply = await a.get(`/api/v1/dlq/${letter}`);
    expect(reply.body).toEqual({
      id: letter,
      job_id: id,
      queue_name: queue,
      task_name: 'send',
      reason: 'non_retryable',
      error_message: 'gave up',
      created_at: completed_at,
      replayed_at: null,
      replay_job_id: null,
      tenant_id: 'tenant-a',
      payload_bytes: 2,
      retry_count: 0,
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(typeof reply.body.id).toBe('number');
  });

  it('have ids that carry the bucket of their tenant, in order, and safe in JavaScript', async () => {
    const queue = newQueue();
    const letters: number[] = [];
    for (let n = 0; n < 5; n++) letters.push((await failed(queue)).letter);
    const job = await createJob(one.b, queue);
    await fail(worker, await leaseOne(worker, queue), { error: 'gave up', retryable: false });
    const [other] = await deadLettersOf(one.b, job);
    for (const letter of letters) expect(letter % 0x10000).toBe(bucketOf('tenant-a'));
    expect(other!.id % 0x10000).toBe(bucketOf('tenant-b'));
    expect(letters.every(Number.isSafeInteger)).toBe(true);
    expect(letters).toEqual([...letters].sort((x, y) => x - y));
    expect(new Set(letters).size).toBe(5);
    expect((await one.b.get(`/api/v1/dlq/${letters[0]}`)).status).toBe(403);
  });

  it('appear at the very instant at which the job fails', async () => {
    const queue = newQueue();
    const ids = await Promise.all(
      Array.from({ length: 20 }, () => createJob(a, queue, { config: { max_retries: 0 } })),
    );
    const leased = await lease(worker, queue, { max_jobs: 20 });
    let over = false;
    /** One snapshot per look: none may show a failed job without its letter, or a letter without its failed job. */
    const looking = until(async () => {
      const [row] = await database.query(
        `SELECT count(*) FILTER (WHERE d.status = 'failed' AND l.id IS NULL)::int AS bare,
                count(*) FILTER (WHERE l.id IS NOT NULL AND d.status IS DISTINCT FROM 'failed')::int AS stray
         FROM millrace.jobs j
         LEFT JOIN millrace.done d USING (tenant, id)
         LEFT JOIN millrace.dead_letters l ON l.job_id = j.id
         WHERE j.queue = $1`,
        [queue],
      );
      expect(row).toEqual({ bare: 0, stray: 0 });
      return over;
    });
    for (const leasedJob of leased) await fail(worker, leasedJob);
    over = true;
    await looking;
    for (const id of ids) expect(await deadLettersOf(a, id)).toHaveLength(1);
  });

  it('are not written for cancelled or completed jobs', async () => {
    const queue = newQueue();
    const waiting = await createJob(a, newQueue());
    const retrying = await createJob(a, queue, { config: { retry_delay_secs: 600 } });
    await fail(worker, await leaseOne(worker, queue));
    const running = await createJob(a, queue);
    await leaseOne(worker, queue);
    for (const id of [waiting, retrying, running]) {
      expect((await cancel(a, id)).status).toBe(204);
      expect(await deadLettersOf(a, id)).toEqual([]);
    }
    const done = await createJob(a, queue);
    await complete(worker, await leaseOne(worker, queue));
    expect(await deadLettersOf(a, done)).toEqual([]);
  });

  it('are replayed as a new job with the same task, payload, queue, configuration and metadata', async () => {
    const queue = newQueue();
    const config = { priority: 3, max_retries: 1, retry_delay_secs: 0, timeout: 9 };
    const reply = await a.post(
      '/api/v1/jobs',
      { task_name: 't', payload: { n: 1 }, metadata: { m: 2 }, config: { queue, ...config } },
      { 'idempotency-key': `replay-${queue}` },
    );
    const id = reply.body.job_id as string;
    for (let i = 0; i < 2; i++) await fail(worker, await leaseOne(worker, queue));
    const original = await getJob(a, id);
    expect(original).toMatchObject({ status: 'failed', idempotency_key: `replay-${queue}` });
    const [letter] = await deadLettersOf(a, id);

    const replayed = await a.post(`/api/v1/dlq/${letter!.id}/replay`);
    expect(replayed.status).toBe(201);
    expect(replayed.headers.get('location')).toBe(`/api/v1/jobs/${replayed.body.job_id}`);
    const fresh = await getJob(a, replayed.body.job_id);
    expect(fresh.id).not.toBe(id);
    expect(fresh).toEqual({
      ...original,
      id: fresh.id,
      status: 'pending',
      retry_count: 0,
      delivery_count: 0,
      error_message: null,
      created_at: fresh.created_at,
      scheduled_at: fresh.created_at,
      started_at: null,
      completed_at: null,
      idempotency_key: null,
      workflow_id: null,
      workflow_step_id: null,
      metadata: { m: 2, replayed_from_job: id, replayed_from_dead_letter: letter!.id },
    });
    expect(comparable(fresh.created_at) > comparable(original.created_at)).toBe(true);
    expect((await a.get(`/api/v1/dlq/${letter!.id}`)).body).toMatchObject({
      replayed_at: fresh.created_at,
      replay_job_id: fresh.id,
    });
    expect(await getJob(a, id)).toEqual(original);

    // It has its own full retry budget and, in the end, its own dead letter.
    for (let i = 0; i < 2; i++) await fail(worker, await leaseOne(worker, queue));
    expect(await getJob(a, fresh.id)).toMatchObject({ status: 'failed', retry_count: 1, delivery_count: 2 });
    const [second] = await deadLettersOf(a, fresh.id);
    const third = await a.post(`/api/v1/dlq/${second!.id}/replay`);
    expect(third.status).toBe(201);
    expect((await getJob(a, third.body.job_id)).metadata).toEqual({
      m: 2,
      replayed_from_first: id,
      replayed_from_job: fresh.id,
      replayed_from_dead_letter: second!.id,
    });
  });

  it('are replayed with the metadata of their job to the byte, and two members more', async () => {
    const queue = newQueue();
    const metadata = '{ "big": 12345678901234567890, "x":"\\u0041",\n "nul": "\\u0000" }';
    const made = await a.post('/api/v1/jobs', `{"task_name":"t","config":{"queue":"${queue}"},"metadata":${metadata}}`);
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    const [letter] = await deadLettersOf(a, made.body.job_id);
    const { body } = await a.post(`/api/v1/dlq/${letter!.id}/replay`);
    const origin = `"replayed_from_job":"${made.body.job_id}","replayed_from_dead_letter":${letter!.id}`;
    expect((await a.get(`/api/v1/jobs/${body.job_id}`)).text).toContain(
      `"metadata":${metadata.slice(0, -1)},${origin}}`,
    );
  });

  it('of a scheduled job are replayed at once', async () => {
    const queue = newQueue();
    const { letter } = await failed(queue, { run_at: '2001-01-01T00:00:00Z' });
    const { body } = await a.post(`/api/v1/dlq/${letter}/replay`);
    const fresh = await getJob(a, body.job_id);
    expect(fresh.scheduled_at).toBe(fresh.created_at);
  });

  it('are replayed once by fifty callers of two processes', async () => {
    const queue = newQueue();
    const { letter } = await failed(queue);
    const replies = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 ? one.a : two.a).post(`/api/v1/dlq/${letter}/replay`)),
    );
    const [created, refused] = [201, 409].map((status) => replies.filter((reply) => reply.status === status));
    expect([created!.length, refused!.length]).toEqual([1, 49]);
    expect(refused!.every(({ body }) => body.code === 'already_replayed')).toBe(true);
    const { body } = await a.get(`/api/v1/jobs?queue=${queue}&include_total=true`);
    expect(body.total).toBe(2);
    expect((await lease(worker, queue, { max_jobs: 100 })).map(({ job }) => job.id)).toEqual([
      created![0]!.body.job_id,
    ]);
  });
});
