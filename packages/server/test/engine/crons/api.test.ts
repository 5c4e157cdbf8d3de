import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { TENANT_A, useTestServer } from '../../support/server.js';

/** Schedules over HTTP. Nothing fires here: a process in api mode has no scheduler. */
const server = await useTestServer({ config: { mode: 'api', defaultQueue: 'the-default' } });
const { a, b, worker, nobody } = server;

const YEARLY = { cron_expr: '0 0 1 1 *', task_name: 'report' };
const named = (fields: object = {}): object => ({ name: `n-${randomUUID()}`, ...YEARLY, ...fields });

async function create(fields: object = {}, client = a): Promise<string> {
  const reply = await client.post('/api/v1/cron', named(fields));
  expect(reply.status, reply.text).toBe(201);
  return reply.body.cron_id;
}

const get = async (id: string): Promise<any> => (await a.get(`/api/v1/cron/${id}`)).body;

describe('creating', () => {
  it('answers with the id and the location of the schedule', async () => {
    const reply = await a.post('/api/v1/cron', named());
    expect(reply.status).toBe(201);
    expect(Object.keys(reply.body)).toEqual(['cron_id']);
    expect(reply.headers.get('location')).toBe(`/api/v1/cron/${reply.body.cron_id}`);
    expect((await a.get(reply.headers.get('location')!)).body.id).toBe(reply.body.cron_id);
  });

  it('keeps what was given', async () => {
    const id = await create({
      name: 'nightly',
      cron_expr: ' 30 3 * * MON-FRI ',
      queue: 'reports / täglich',
      config: { max_retries: 7, timeout: 20, jitter_factor: 0, queue: 'ignored', nonsense: 1, priority: null },
    });
    expect(await get(id)).toEqual({
      id,
      name: 'nightly',
      cron_expr: ' 30 3 * * MON-FRI ',
      timezone: 'UTC',
      task_name: 'report',
      payload: {},
      queue_name: 'reports / täglich',
      config: { max_retries: 7, timeout_secs: 20, jitter_factor: 0 },
      overlap: 'allow',
      workflow: null,
      enabled: true,
      next_run_at: expect.stringMatching(/T03:30:00Z$/),
      last_enqueued_at: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z$/),
      tenant_id: TENANT_A,
    });
  });

  it('fills in the default queue, an empty payload and an empty configuration', async () => {
    const cron = await get(await create({ payload: null, queue: null, config: null }));
    expect(cron).toMatchObject({ queue_name: 'the-default', payload: {}, config: {} });
  });

  it('returns the payload byte for byte', async () => {
    const payload = '{"z":1.0,"a":12345678901234567890,"é":"\\u00e9","n":{"b":[1e2]}}';
    const reply = await a.post(
      '/api/v1/cron',
      `{"name":"raw","cron_expr":"@yearly","task_name":"t","payload":${payload}}`,
    );
    expect((await a.get(`/api/v1/cron/${reply.body.cron_id}`)).text).toContain(`"payload":${payload}`);
  });

  it.each([
    ['* * * * * *', 1],
    ['* * * * *', 60],
    ['@hourly', 3600],
    ['0 0 * * *', 86_400],
  ])('%s starts with the first occurrence after creation', async (cron_expr, period) => {
    const cron = await get(await create({ cron_expr }));
    const created = Date.parse(cron.created_at) / 1000;
    const expected = (Math.floor(created / period) + 1) * period;
    expect(Date.parse(cron.next_run_at) / 1000).toBe(expected);
    expect(cron.next_run_at > cron.created_at).toBe(true);
  });

  it('uses UTC, whatever the time zone of the process', async () => {
    expect(new Date().getTimezoneOffset()).toBeGreaterThan(0);
    const cron = await get(await create({ cron_expr: '15 2 * * 1' }));
    expect(cron.next_run_at).toMatch(/T02:15:00Z$/);
    expect(new Date(cron.next_run_at).getUTCDay()).toBe(1);
  });

  it.each([
    ['name', { name: undefined }],
    ['name', { name: ' ' }],
    ['name', { name: 'x'.repeat(256) }],
    ['name', { name: 'a\0b' }],
    ['name', { name: 7 }],
    ['task_name', { task_name: undefined }],
    ['task_name', { task_name: '' }],
    ['cron_expr', { cron_expr: undefined }],
    ['cron_expr', { cron_expr: null }],
    ['cron_expr', { cron_expr: 5 }],
    ['cron_expr', { cron_expr: '* * * * *\0' }],
    ['cron_expr', { cron_expr: '* '.repeat(200) }],
    ['payload', { payload: [] }],
    ['payload', { payload: 'x' }],
    ['timezone', { timezone: 'Mars/Olympus' }],
    ['timezone', { timezone: '' }],
    ['timezone', { timezone: '+02:00' }],
    ['timezone', { timezone: 'PST' }],
    ['timezone', { timezone: 'Europe/Berlin\0' }],
    ['timezone', { timezone: 7 }],
    ['queue', { queue: '' }],
    ['queue', { queue: 'x'.repeat(256) }],
    ['queue', { queue: 'a\0b' }],
    ['config', { config: [] }],
    ['config.max_retries', { config: { max_retries: 1001 } }],
    ['config.timeout_secs', { config: { timeout_secs: 86_401 } }],
    ['config.timeout_secs', { config: { timeout: 5, timeout_secs: 6 } }],
    ['config.jitter_factor', { config: { jitter_factor: '0.5' } }],
    ['config.retry_backoff', { config: { retry_backoff: 'sometimes' } }],
    ['config.priority', { config: { priority: 2 ** 31 } }],
  ])('refuses a bad %s: %j', async (path, fields) => {
    const reply = await a.post('/api/v1/cron', named(fields));
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details.map((detail: { path: string }) => detail.path)).toContain(path);
  });

  it.each([
    '* * * *',
    '* * * * * * * *',
    'TZ=UTC * * * * *',
    'CRON_TZ=UTC * * * * *',
    '@reboot',
    '* * L * *',
    '60 * * * *',
    'every day',
    '0 0 30 2 *',
    '0 0 0 1 1 * 2020',
    '0 0 0 29 2 * 2100',
    '0 0 0 31 2,4,6,9,11 */2 2026-2199',
  ])('refuses the expression %s', async (cron_expr) => {
    const reply = await a.post('/api/v1/cron', named({ cron_expr }));
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    expect(reply.body.details).toEqual([{ path: 'cron_expr', message: expect.any(String) }]);
    expect(reply.body.error).toBe(`cron_expr ${reply.body.details[0].message}`);
  });

  it('stores nothing of what it refuses', async () => {
    await a.post('/api/v1/cron', named({ name: 'refused', cron_expr: '0 0 30 2 *' }));
    expect((await a.get('/api/v1/cron?limit=100')).text).not.toContain('refused');
  });
});

describe('names', () => {
  it('are unique within a tenant, and free again after deletion', async () => {
    const first = await create({ name: 'unique' });
    const taken = await a.post('/api/v1/cron', named({ name: 'unique', cron_expr: '@daily' }));
    expect([taken.status, taken.body.code]).toEqual([409, 'conflict']);
    expect((await get(first)).cron_expr).toBe(YEARLY.cron_expr);
    await create({ name: 'unique' }, b);
    expect((await a.delete(`/api/v1/cron/${first}`)).status).toBe(204);
    expect(await create({ name: 'unique' })).not.toBe(first);
  });

  it('go to one of twenty concurrent requests', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => a.post('/api/v1/cron', named({ name: 'race' }))),
    );
    const statuses = replies.map((reply) => reply.status).sort();
    expect(statuses).toEqual([201, ...Array<number>(19).fill(409)]);
  });

  it('are case-sensitive', async () => {
    await create({ name: 'Case' });
    await create({ name: 'case' });
  });
});

describe('pausing and resuming', () => {
  it('may be repeated, and resuming moves nothing that was not paused', async () => {
    const id = await create({ cron_expr: '@hourly' });
    const before = await get(id);
    const act = async (what: string) => {
      const reply = await a.post(`/api/v1/cron/${id}/${what}`);
      expect([reply.status, reply.text]).toEqual([204, '']);
      return get(id);
    };
    expect(await act('resume')).toEqual(before);
    expect(await act('pause')).toEqual({ ...before, enabled: false });
    expect(await act('pause')).toEqual({ ...before, enabled: false });
    expect((await act('resume')).enabled).toBe(true);
    expect((await act('resume')).enabled).toBe(true);
  });

  it('accept an empty body with or without a content type', async () => {
    const id = await create();
    const json = { 'content-type': 'application/json' };
    expect((await a.send('POST', `/api/v1/cron/${id}/pause`, { headers: json })).status).toBe(204);
    expect((await a.send('POST', `/api/v1/cron/${id}/resume`, { body: '' })).status).toBe(204);
    expect((await a.send('DELETE', `/api/v1/cron/${id}`, { headers: json })).status).toBe(204);
  });
});

describe('the next occurrences', () => {
  it('are as many as requested, from 1 to 100', async () => {
    const id = await create({ cron_expr: '0 0 * * *' });
    const next = async (query: string) => (await a.get(`/api/v1/cron/${id}/next${query}`)).body.next_run_at;
    const ten: string[] = await next('');
    expect(ten).toHaveLength(10);
    expect(ten[0]).toBe((await get(id)).next_run_at);
    ten.slice(1).forEach((instant, n) => expect(Date.parse(instant) - Date.parse(ten[n]!)).toBe(86_400_000));
    expect(await next('?count=3')).toEqual(ten.slice(0, 3));
    expect(await next('?count=0')).toHaveLength(1);
    expect(await next('?count=-5')).toHaveLength(1);
    expect(await next('?count=1000')).toHaveLength(100);
    for (const bad of ['ten', '1.5', ''])
      expect((await a.get(`/api/v1/cron/${id}/next?count=${bad}`)).status).toBe(400);
  });

  it('end when the expression does', async () => {
    const id = await create({ cron_expr: '0 0 0 1 1,7 * 2150' });
    expect((await a.get(`/api/v1/cron/${id}/next`)).body).toEqual({
      next_run_at: ['2150-01-01T00:00:00Z', '2150-07-01T00:00:00Z'],
    });
  });

  it('are shown for a paused schedule too', async () => {
    const id = await create({ cron_expr: '@hourly' });
    await a.post(`/api/v1/cron/${id}/pause`);
    expect((await a.get(`/api/v1/cron/${id}/next?count=2`)).body.next_run_at).toHaveLength(2);
  });
});

describe('isolation', () => {
  const routes = [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/pause'],
    ['POST', '/resume'],
    ['GET', '/firings'],
    ['GET', '/next'],
    ['POST', '/trigger'],
  ] as const;

  it.each(routes)('%s /cron/{id}%s', async (method, path) => {
    const theirs = await create({}, b);
    const status = async (id: string, client = a) => (await client.send(method, `/api/v1/cron/${id}${path}`)).status;
    expect(await status(theirs)).toBe(403);
    expect(await status(randomUUID())).toBe(404);
    // Unknown, but in the bucket of a tenant that exists.
    expect(await status(theirs.slice(0, -4) + 'ffff')).toBe(404);
    for (const malformed of ['x', '17', `${theirs}0`, "'; --", '%00']) expect(await status(malformed)).toBe(404);
    expect(await status(theirs, nobody)).toBe(401);
    expect(await status(theirs, worker)).toBe(401);
    expect((await b.get(`/api/v1/cron/${theirs}`)).body).toMatchObject({ id: theirs, enabled: true });
    expect(await status(theirs.toUpperCase(), b)).toBeLessThan(300);
  });

  it('lists only the caller’s own schedules', async () => {
    const own = await create({ name: 'own-alone' });
    const ids = (await b.get('/api/v1/cron?limit=100')).body.crons.map((cron: { id: string }) => cron.id);
    expect(ids).not.toContain(own);
    for (const client of [nobody, worker]) {
      expect((await client.get('/api/v1/cron')).status).toBe(401);
      expect((await client.post('/api/v1/cron', { name: 5 })).status).toBe(401);
    }
  });
});

describe('the client’s idempotency keys', () => {
  it('cannot take the key of a firing', async () => {
    const id = await create();
    const key = `millrace:cron:${id}:${(await get(id)).next_run_at}`;
    const reply = await a.post('/api/v1/jobs', { task_name: 't' }, { 'idempotency-key': key });
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
  });
});

it('describes its routes', async () => {
  const { paths } = (await nobody.get('/openapi.json')).body;
  const described = Object.entries<object>(paths)
    .filter(([path]) => path.startsWith('/api/v1/cron'))
    .map(([path, methods]) => `${Object.keys(methods).sort().join(',')} ${path}`);
  expect(described.sort()).toEqual([
    'delete,get,put /api/v1/cron/{id}',
    'get /api/v1/cron/preview',
    'get /api/v1/cron/{id}/firings',
    'get /api/v1/cron/{id}/next',
    'get,post /api/v1/cron',
    'post /api/v1/cron/{id}/pause',
    'post /api/v1/cron/{id}/resume',
    'post /api/v1/cron/{id}/trigger',
  ]);
});
