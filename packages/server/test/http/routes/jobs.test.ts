import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../../src/domain/records.js';
import { JOB_ID, jobRecord, useApp } from '../harness.js';

describe('creating a job', async () => {
  const { a, engine } = await useApp();
  const create = (body: unknown, headers?: Record<string, string>) => a.post('/api/v1/jobs', body, headers);
  const created = (): JobSpec => engine.last('jobs.create')[1] as JobSpec;
  const config = async (given: object): Promise<unknown> => {
    expect((await create({ task_name: 'a', config: given })).status).toBe(201);
    return created().config;
  };

  it('answers with its id and location', async () => {
    const reply = await create({ task_name: 'a' });
    expect([reply.status, reply.body]).toEqual([201, { job_id: JOB_ID }]);
    expect(reply.headers.get('location')).toBe(`/api/v1/jobs/${JOB_ID}`);
  });

  it('requires only a task', async () => {
    await create({ task_name: 'send mail' });
    expect(engine.last('jobs.create')).toEqual([
      'tenant-a',
      {
        task: 'send mail',
        queue: 'default',
        payload: '{}',
        config: null,
        runAt: null,
        delaySecs: null,
        metadata: null,
      },
      null,
    ]);
  });

  it('treats null as absent and ignores unknown fields', async () => {
    const body = { task_name: 'a', payload: null, config: null, run_at: null, metadata: null, tenant_id: 'x', id: 1 };
    expect((await create(body)).status).toBe(201);
    expect(created()).toEqual({
      task: 'a',
      queue: 'default',
      payload: '{}',
      config: null,
      runAt: null,
      delaySecs: null,
      metadata: null,
    });
    const nulls = { queue: null, priority: null, timeout: null, timeout_secs: null, retry_backoff: null, unknown: 1 };
    expect(await config(nulls)).toBeNull();
  });

  it('stores a full configuration, under the stored names and without the queue', async () => {
    expect(await config({ queue: 'mail', timeout: 30 })).toEqual({
      priority: 0,
      max_retries: 3,
      timeout_secs: 30,
      retry_backoff: 'exponential',
      retry_delay_secs: 60,
      retry_max_delay_secs: 3600,
      jitter_factor: 0.1,
    });
    expect(created().queue).toBe('mail');
  });

  it('stores no configuration if all of it is default', async () => {
    expect(await config({})).toBeNull();
    expect(await config({ max_retries: 3, timeout: 300, jitter_factor: 0.1, retry_backoff: 'exponential' })).toBeNull();
  });

  it.each([
    ['max_retries', [0, 1000], [-1, 1001, 1.5, '3', true, [3], 1e400]],
    ['timeout', [1, 86_400], [0, 86_401, -1, 0.5, '30']],
    ['timeout_secs', [1, 86_400], [0, 86_401, -1, 0.5, '30']],
    ['retry_delay_secs', [0, 2_592_000], [-1, 2_592_001, 0.1, '1']],
    ['retry_max_delay_secs', [0, 2_592_000], [-1, 2_592_001, 0.1, '1']],
    ['jitter_factor', [0, 0.0, 0.5, 1, 1.0], [-0.01, 1.01, '0.1', {}]],
    ['priority', [-2_147_483_648, 0, 2_147_483_647], [-2_147_483_649, 2_147_483_648, 0.5, '1', 1e300]],
    ['retry_backoff', ['fixed', 'linear', 'exponential'], ['x', '', 'FIXED', 1, ['fixed']]],
    ['queue', ['q', 'a b', '/', '😀'.repeat(255), ' '], ['', 'q'.repeat(256), '😀'.repeat(256), 1, 'a\0b', 'a\ud800']],
  ])('checks config.%s', async (field, good, bad) => {
    for (const value of good) {
      const reply = await create({ task_name: 'a', config: { [field]: value } });
      expect([value, reply.status]).toEqual([value, 201]);
    }
    for (const value of bad) {
      const text = JSON.stringify({ task_name: 'a', config: { [field]: value } }).replace(':null', ':1e400');
      const reply = await create(text);
      expect([value, reply.status]).toEqual([value, 400]);
      expect(reply.body).toMatchObject({ code: 'invalid_request', details: [{ path: `config.${field}` }] });
      expect(reply.body.error).toContain(`config.${field}`);
    }
  });

  it('accepts other JSON spellings of numbers', async () => {
    expect((await create('{"task_name":"a","config":{"max_retries":1e1,"priority":-0}}')).status).toBe(201);
    expect(created().config).toMatchObject({ max_retries: 10, priority: 0 });
  });

  it('accepts either spelling of the timeout, but not two values', async () => {
    expect(await config({ timeout_secs: 7 })).toMatchObject({ timeout_secs: 7 });
    expect(await config({ timeout: 7, timeout_secs: 7 })).toMatchObject({ timeout_secs: 7 });
    const reply = await create({ task_name: 'a', config: { timeout: 7, timeout_secs: 8 } });
    expect(reply.body).toMatchObject({ code: 'invalid_request', details: [{ path: 'config.timeout_secs' }] });
    expect(reply.status).toBe(400);
  });

  it.each([
    ['task_name', [undefined, null, '', '   ', '\t\n', 7, {}, 'x'.repeat(256), 'a\0', '\udc00', '😀'.repeat(256)]],
    ['payload', [[], 'text', 7, true]],
    ['metadata', [[], 'text', 7, false]],
    ['config', [[], 'text', 7]],
    ['run_at', ['tomorrow', '2030-01-01', '2030-01-01T00:00:00', '2030-02-30T00:00:00Z', 1893456000, '', {}]],
  ])('checks %s', async (field, bad) => {
    for (const value of bad) {
      const reply = await create({ task_name: 'a', [field]: value });
      expect([value, reply.status]).toEqual([value, 400]);
      expect(reply.body).toMatchObject({ code: 'invalid_request', details: [{ path: field }] });
    }
  });

  it('counts characters, not bytes or UTF-16 units', async () => {
    expect((await create({ task_name: '😀'.repeat(255) })).status).toBe(201);
  });

  it('reports everything that is wrong at once', async () => {
    const reply = await create({ payload: [], config: { max_retries: 1001, jitter_factor: 2 }, run_at: 'soon' });
    expect(reply.body.details).toEqual(
      expect.arrayContaining([
        { path: 'task_name', message: 'is required' },
        { path: 'payload', message: 'must be object' },
        { path: 'config.max_retries', message: 'must be <= 1000' },
        { path: 'config.jitter_factor', message: 'must be <= 1' },
        { path: 'run_at', message: 'must be an RFC 3339 instant with an offset or Z' },
      ]),
    );
  });

  it('passes run_at on in UTC with its microseconds', async () => {
    await create({ task_name: 'a', run_at: '2030-06-01T12:00:00.123456+02:00' });
    expect(created().runAt).toBe('2030-06-01T10:00:00.123456Z');
  });

  describe('Idempotency-Key', () => {
    const keyOf = async (key: string): Promise<unknown> => {
      expect((await create({ task_name: 'a' }, { 'idempotency-key': key })).status).toBe(201);
      return (engine.last('jobs.create')[2] as { key: string } | null)?.key ?? null;
    };

    it('is trimmed, and an empty one counts as none', async () => {
      expect(await keyOf('  order 7\t')).toBe('order 7');
      expect(await keyOf('')).toBeNull();
      expect(await keyOf('   ')).toBeNull();
    });

    it('has at most 255 characters', async () => {
      expect(await keyOf('k'.repeat(255))).toBe('k'.repeat(255));
      expect((await create({ task_name: 'a' }, { 'idempotency-key': 'k'.repeat(256) })).status).toBe(400);
    });

    it('must not have the prefix of the service', async () => {
      for (const key of ['millrace:', 'millrace:cron:1:2', '  millrace:x']) {
        const reply = await create({ task_name: 'a' }, { 'idempotency-key': key });
        expect(reply.body).toMatchObject({ code: 'invalid_request', details: [{ path: 'Idempotency-Key' }] });
      }
      expect(await keyOf('millrace')).toBe('millrace');
    });

    it.each(['clé', 'à', '😀'.repeat(255)])('is UTF-8: %s', async (key) => {
      expect(await keyOf(Buffer.from(key).toString('latin1'))).toBe(key);
    });

    it.each(['cl\u00e9', '\x80\xff', '\xc3'])('is refused if it is not UTF-8: %j', async (key) => {
      const reply = await create({ task_name: 'a' }, { 'idempotency-key': key });
      expect(reply.status).toBe(400);
      expect(reply.body.details).toEqual([{ path: 'Idempotency-Key', message: 'must be valid UTF-8' }]);
    });
  });
});

describe('creating a batch', async () => {
  const { a, engine } = await useApp();
  const batch = (body: unknown) => a.post('/api/v1/jobs/batch', body);

  it('answers with the ids in order and their count', async () => {
    const reply = await batch({ jobs: [{ task_name: 'a' }, { task_name: 'b' }] });
    expect([reply.status, reply.body]).toEqual([201, { job_ids: [JOB_ID, JOB_ID], count: 2 }]);
  });

  it('gives each item its own configuration and instant', async () => {
    const jobs = [
      { task_name: 'a', config: { queue: 'q', timeout: 5 }, run_at: '2030-01-01T00:00:00Z' },
      { task_name: 'b', payload: { x: 1 } },
    ];
    await batch({ jobs });
    expect(engine.last('jobs.createBatch')).toMatchObject([
      'tenant-a',
      [
        { task: 'a', queue: 'q', config: { timeout_secs: 5 }, runAt: '2030-01-01T00:00:00.000000Z' },
        { task: 'b', queue: 'default', config: null, runAt: null, payload: '{"x":1}' },
      ],
      null,
    ]);
  });

  it.each([
    ['nothing', {}],
    ['an empty list', { jobs: [] }],
    ['an object', { jobs: {} }],
    ['null', { jobs: null }],
    ['1001 items', { jobs: Array.from({ length: 1001 }, () => ({ task_name: 'a' })) }],
    ['endless rubbish', { jobs: Array.from({ length: 500_000 }, () => 1) }],
  ])('refuses %s', async (_what, body) => {
    const before = engine.calls.length;
    const reply = await batch(body);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details[0].path).toBe('jobs');
    expect(engine.calls).toHaveLength(before);
  });

  it.each([
    ['jobs[3].config.max_retries', { task_name: 'x', config: { max_retries: 1001 } }],
    ['jobs[3].config.timeout_secs', { task_name: 'x', config: { timeout: 1, timeout_secs: 2 } }],
    ['jobs[3].task_name', { payload: {} }],
    ['jobs[3].payload', { task_name: 'x', payload: 7 }],
    ['jobs[3]', 'nonsense'],
    ['jobs[3]', null],
  ])('names the item that is wrong: %s', async (path, item) => {
    const good = { task_name: 'a' };
    const reply = await batch({ jobs: [good, good, good, item, good] });
    expect(reply.status).toBe(400);
    expect(reply.body.details[0].path).toBe(path);
    expect(reply.body.error).toContain(path);
  });

  it('limits the number of problems it lists', async () => {
    const reply = await batch({ jobs: Array.from({ length: 1000 }, () => ({})) });
    expect(reply.body.details).toHaveLength(20);
  });
});

describe('one job', async () => {
  const record = jobRecord({
    payload: '{ "big": 12345678901234567890 }',
    status: 'failed',
    error_message: 'no "luck"\n',
    idempotency_key: 'k',
  });
  const { a, engine } = await useApp({ engine: { jobs: { get: async () => record } } });

  it('is returned as stored', async () => {
    const reply = await a.get(`/api/v1/jobs/${JOB_ID}`);
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('"payload":{ "big": 12345678901234567890 }');
    expect(reply.body).toMatchObject({ id: JOB_ID, status: 'failed', error_message: 'no "luck"\n', result: null });
    expect(engine.last('jobs.get')).toEqual(['tenant-a', JOB_ID]);
  });

  it('passes any id to the engine, decoded', async () => {
    await a.get('/api/v1/jobs/not%20a%2Fuuid');
    expect(engine.last('jobs.get')).toEqual(['tenant-a', 'not a/uuid']);
  });

  it('is cancelled with an empty answer', async () => {
    const reply = await a.post(`/api/v1/jobs/${JOB_ID}/cancel`);
    expect([reply.status, reply.text, reply.headers.get('content-type')]).toEqual([204, '', null]);
    expect(engine.last('jobs.cancel')).toEqual(['tenant-a', JOB_ID]);
  });
});
