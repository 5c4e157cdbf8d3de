import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { comparable, createJob, getJob, idsOf, inSeconds, lease, leaseOne, listAll, newQueue } from '../kit.js';

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

describe('creating a job', async () => {
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { mode: 'api' } });
  const { a, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });

  it('fills in every default, under the stored names, with the queue as a separate field', async () => {
    const { body } = await a.post('/api/v1/jobs', { task_name: 'nobody knows' });
    expect(await getJob(a, body.job_id)).toEqual({
      id: body.job_id,
      queue_name: 'default',
      task_name: 'nobody knows',
      payload: {},
      config: DEFAULT_JOB_CONFIG,
      status: 'pending',
      result: null,
      error_message: null,
      retry_count: 0,
      delivery_count: 0,
      created_at: expect.stringMatching(RFC_3339),
      scheduled_at: expect.stringMatching(RFC_3339),
      started_at: null,
      completed_at: null,
      next_retry_at: null,
      idempotency_key: null,
      workflow_id: null,
      workflow_step_id: null,
      tenant_id: 'tenant-a',
      metadata: {},
      worker_id: null,
      lease_expires_at: null,
      progress: null,
    });
  });

  it('stores timeout as timeout_secs and keeps no queue in the configuration', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { config: { timeout: 7, priority: -3 }, metadata: { by: 'me' } });
    const job = await getJob(a, id);
    expect(job).toMatchObject({ queue_name: queue, metadata: { by: 'me' } });
    expect(job.config).toEqual({ ...DEFAULT_JOB_CONFIG, timeout_secs: 7, priority: -3 });
    const [leased] = await lease(worker, queue);
    expect(leased?.job.config).toEqual(job.config);
  });

  it.each([
    { max_retries: -1 },
    { max_retries: 1001 },
    { max_retries: 1.5 },
    { max_retries: '3' },
    { timeout: 0 },
    { timeout: 86_401 },
    { timeout_secs: 86_401 },
    { timeout: 1, timeout_secs: 2 },
    { retry_delay_secs: -1 },
    { retry_delay_secs: 2_592_001 },
    { retry_max_delay_secs: 2_592_001 },
    { jitter_factor: -0.01 },
    { jitter_factor: 1.01 },
    { jitter_factor: '0.1' },
    { retry_backoff: 'x' },
    { retry_backoff: 'Fixed' },
    { priority: 2 ** 31 },
    { priority: -(2 ** 31) - 1 },
    { priority: 0.5 },
    { queue: '' },
    { queue: 'q'.repeat(256) },
    { queue: 5 },
    { queue: 'a\0b' },
  ])('refuses the configuration %j', async (config) => {
    const reply = await a.post('/api/v1/jobs', { task_name: 't', config });
    expect(reply.status).toBe(400);
    expect(reply.body.code).toBe('invalid_request');
  });

  it.each([
    { jitter_factor: 0 },
    { jitter_factor: 1.0 },
    { max_retries: 0 },
    { max_retries: 1000 },
    { timeout: 1 },
    { timeout: 86_400, timeout_secs: 86_400 },
    { retry_delay_secs: 0, retry_max_delay_secs: 2_592_000 },
    { priority: 2 ** 31 - 1 },
    { priority: -(2 ** 31) },
    { queue: '😀'.repeat(255) },
    { queue: ' a/b?c%2e ' },
    { nobody_knows_this_key: [] },
  ])('accepts the configuration %j', async (config) => {
    const reply = await a.post('/api/v1/jobs', { task_name: 't', config });
    expect(reply.status, reply.text).toBe(201);
    const { nobody_knows_this_key: _, queue, timeout, ...stored } = config as Record<string, unknown>;
    const job = await getJob(a, reply.body.job_id);
    expect(job.config).toMatchObject({ ...stored, ...(timeout !== undefined && { timeout_secs: timeout }) });
    expect(job.config).not.toHaveProperty('nobody_knows_this_key');
    if (queue !== undefined) {
      expect(job.queue_name).toBe(queue);
      expect(idsOf(await lease(worker, queue as string))).toEqual([job.id]);
    }
  });

  it.each([
    '[]',
    '"text"',
    '17',
    'null',
    '',
    '{"task_name":"t"',
    '{"task_name":"t","payload":[]}',
    '{"task_name":"t","payload":"x"}',
    '{"task_name":"t","payload":5}',
    '{"task_name":"t","payload":true}',
    '{"task_name":"t","metadata":[]}',
    '{"payload":{}}',
    '{"task_name":""}',
    '{"task_name":"  "}',
    '{"task_name":"a\\u0000b"}',
    '{"task_name":"\\ud800"}',
    `{"task_name":"${'x'.repeat(256)}"}`,
    '{"task_name":7}',
    '{"task_name":"t","config":[]}',
    '{"task_name":"t","config":{"queue":"\\udc00"}}',
  ])('answers 400 to %s', async (body) => {
    expect((await a.post('/api/v1/jobs', body)).status).toBe(400);
  });

  it('keeps NUL and lone surrogates in a payload as sent', async () => {
    const queue = newQueue();
    const payload = '{"nul":"\\u0000","half":"\\ud800"}';
    const reply = await a.post('/api/v1/jobs', `{"task_name":"t","payload":${payload},"config":{"queue":"${queue}"}}`);
    expect(reply.status).toBe(201);
    expect((await a.get(`/api/v1/jobs/${reply.body.job_id}`)).text).toContain(payload);
    expect((await worker.post(`/api/v1/queues/${queue}/lease`)).text).toContain(payload);
  });

  it('makes it claimable at a future run_at, and pending until then', async () => {
    const queue = newQueue();
    const later = newQueue();
    const soon = inSeconds(3600);
    const [id, never] = [
      await createJob(a, queue, { run_at: soon }),
      await createJob(a, later, { run_at: '2999-12-31T23:59:59.999999+02:00' }),
    ];
    expect(await lease(worker, queue)).toEqual([]);
    const job = await getJob(a, id);
    expect(job).toMatchObject({ status: 'pending', started_at: null, next_retry_at: null });
    expect(Date.parse(job.scheduled_at)).toBe(Date.parse(soon));
    expect(comparable(job.scheduled_at) > comparable(job.created_at)).toBe(true);
    expect((await getJob(a, never)).scheduled_at).toBe('2999-12-31T21:59:59.999999Z');
    expect((await listAll(a, `queue=${queue}&status=pending`)).map((listed) => listed.id)).toEqual([id]);
    expect((await a.get('/api/v1/jobs?status=scheduled')).status).toBe(400);

    await clock.advance(3600);
    const leased = await leaseOne(worker, queue);
    expect(leased.job).toMatchObject({ id, status: 'running', scheduled_at: job.scheduled_at });
    expect(comparable(leased.job.started_at) >= comparable(leased.job.scheduled_at)).toBe(true);
    expect(await lease(worker, later)).toEqual([]);
  });

  it('makes it claimable at once for a past run_at, which stays the scheduled_at', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { run_at: '0001-01-01T00:00:00Z' });
    const [leased] = await lease(worker, queue);
    expect(leased?.job).toMatchObject({ id, scheduled_at: '0001-01-01T00:00:00Z' });
  });

  it.each([
    'tomorrow',
    '2030-01-01',
    '2030-01-01T00:00:00',
    '2030-02-30T00:00:00Z',
    1893456000,
    {},
    '',
    '2030-01-01T00:00:00Z\0',
  ])('refuses run_at %j', async (run_at) => {
    expect((await a.post('/api/v1/jobs', { task_name: 't', run_at })).status).toBe(400);
  });

  it('returns the location of the job, and instants with a zone', async () => {
    const before = (await clock.now()).getTime();
    const reply = await a.post('/api/v1/jobs', { task_name: 't', config: { queue: newQueue() } });
    const after = (await clock.now()).getTime();
    const where = reply.headers.get('location')!;
    expect(where).toBe(`/api/v1/jobs/${reply.body.job_id}`);
    const { body } = await a.get(where);
    expect(body.created_at).toMatch(RFC_3339);
    expect(Date.parse(body.created_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(body.created_at)).toBeLessThanOrEqual(after);
  });

  it('answers an unknown route with a JSON 404', async () => {
    const reply = await a.get('/api/v1/no-such-thing');
    expect(reply.status).toBe(404);
    expect(reply.body).toEqual({ error: expect.any(String), code: 'not_found', timestamp: expect.any(String) });
  });
});
