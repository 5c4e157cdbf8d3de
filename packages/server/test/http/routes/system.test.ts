import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { unavailable } from '../../../src/domain/errors.js';
import { NO_STATS, startApp, useApp } from '../harness.js';

describe('probes', () => {
  it('health does not ask the engine', async () => {
    const { nobody, engine, close } = await startApp({ engine: { system: { ready: async () => false } } });
    const reply = await nobody.get('/health');
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      status: 'healthy',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      version: '0.2.0-test',
    });
    expect(engine.calls).toEqual([]);
    await close();
  });

  it.each([
    ['ready', async () => true, false, 200],
    ['the database is away', async () => false, false, 503],
    ['the database is away, loudly', async () => Promise.reject(unavailable('gone')), false, 503],
    ['shutdown began', async () => true, true, 503],
  ])('%s', async (_what, ready, stopping, status) => {
    const { nobody, close } = await startApp({ engine: { system: { ready } }, isShuttingDown: () => stopping });
    const reply = await nobody.get('/ready');
    expect(reply.status).toBe(status);
    if (status === 200) expect(reply.body).toEqual({ status: 'ready' });
    else expect(reply.body).toMatchObject({ code: 'unavailable' });
    expect(reply.headers.has('retry-after')).toBe(status === 503);
    expect((await nobody.get('/health')).status).toBe(200);
    await close();
  });
});

describe('system routes', async () => {
  const stats = { ...NO_STATS, jobs_created: 7 };
  const queues = [
    {
      queue: 'q',
      pending: 1,
      scheduled: 2,
      running: 3,
      oldest_pending_age_secs: 1,
      retrying: 1,
      retrying_later: 0,
      paused_at: null,
      paused_reason: null,
      paused_by: null,
      last_lease_at: null,
      settings: null,
    },
  ];
  const { a, engine } = await useApp({
    engine: { system: { stats: () => stats }, jobs: { queues: async () => ({ queues, nextCursor: null }) } },
  });

  it('stats', async () => {
    expect((await a.get('/api/v1/stats')).body).toEqual(stats);
  });

  it('tasks', async () => {
    expect((await a.get('/api/v1/tasks')).body).toEqual({ tasks: ['echo', 'fail', 'log', 'sleep'] });
  });

  it('queues', async () => {
    expect((await a.get('/api/v1/queues')).body).toEqual({ queues });
    expect(engine.last('jobs.queues')).toEqual(['tenant-a', { limit: 1000, cursor: null, idle: false }]);
  });
});

describe('headers', async () => {
  const { a, nobody } = await useApp();

  it('identify each request', async () => {
    const ids = new Set<string | null>();
    for (let i = 0; i < 3; i++) ids.add((await nobody.get('/health')).headers.get('x-request-id'));
    expect(ids.size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[\w-]+$/);
  });

  it('keep the request id that a caller sent, if it is well formed', async () => {
    const echoed = async (id: string): Promise<string | null> =>
      (await nobody.get('/nowhere', { 'x-request-id': id })).headers.get('x-request-id');
    expect(await echoed('abc-123.x')).toBe('abc-123.x');
    for (const id of ['a b', '<script>', 'x'.repeat(129), 'é', '']) expect(await echoed(id)).not.toBe(id);
  });

  it('forbid sniffing, storing and framing', async () => {
    for (const reply of [await nobody.get('/health'), await a.get('/api/v1/tasks'), await nobody.get('/nowhere')]) {
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(reply.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  });

  it("do not reveal the server's software", async () => {
    const { headers } = await nobody.get('/health');
    expect([headers.get('server'), headers.get('x-powered-by')]).toEqual([null, null]);
  });
});

describe('cross-origin calls', () => {
  const EXPOSED = ['etag', 'idempotency-replayed', 'location', 'preference-applied', 'retry-after', 'x-request-id'];
  const asked = 'authorization,content-type,idempotency-key,prefer,x-anything-else';
  const preflight = {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': asked,
  };

  it('are allowed from everywhere by default', async () => {
    const { nobody, a, close } = await startApp();
    for (const path of ['/api/v1/jobs', '/api/v1/queues/q/lease', '/health']) {
      const reply = await nobody.send('OPTIONS', path, { headers: preflight });
      expect([path, reply.status, reply.text]).toEqual([path, 204, '']);
      expect(reply.headers.get('access-control-allow-origin')).toBe('*');
      expect(reply.headers.get('access-control-allow-headers')).toBe(asked);
      expect(reply.headers.get('vary')?.toLowerCase()).toContain('access-control-request-headers');
      expect(reply.headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST, PUT, DELETE');
    }
    const reply = await a.get('/api/v1/tasks', { origin: 'https://app.example' });
    expect(reply.headers.get('access-control-allow-origin')).toBe('*');
    const exposed = reply.headers.get('access-control-expose-headers')?.toLowerCase();
    for (const header of EXPOSED) expect(exposed).toContain(header);
    await close();
  });

  it('can read errors too', async () => {
    const { nobody, close } = await startApp();
    const reply = await nobody.get('/api/v1/tasks', { origin: 'https://app.example' });
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).toEqual([401, '*']);
    await close();
  });

  it('are allowed from nowhere with an empty list, which is --cors-origins none', async () => {
    const { nobody, a, close } = await startApp({ corsOrigins: [] });
    const asked = await nobody.send('OPTIONS', '/api/v1/jobs', { headers: preflight });
    const read = await a.get('/api/v1/tasks', { origin: 'https://app.example' });
    expect(asked.headers.get('access-control-allow-origin')).toBeNull();
    expect([read.status, read.headers.get('access-control-allow-origin')]).toEqual([200, null]);
    await close();
  });

  it('are allowed only from the listed origins if there is a list', async () => {
    const { nobody, a, close } = await startApp({ corsOrigins: ['https://app.example', 'https://b.example'] });
    const allowed = async (origin: string): Promise<(string | null)[]> => [
      (await nobody.send('OPTIONS', '/api/v1/jobs', { headers: { ...preflight, origin } })).headers.get(
        'access-control-allow-origin',
      ),
      (await a.get('/api/v1/tasks', { origin })).headers.get('access-control-allow-origin'),
    ];
    expect(await allowed('https://app.example')).toEqual(['https://app.example', 'https://app.example']);
    expect(await allowed('https://b.example')).toEqual(['https://b.example', 'https://b.example']);
    expect(await allowed('https://evil.example')).toEqual([null, null]);
    expect(await allowed('https://app.example.evil')).toEqual([null, null]);
    expect((await nobody.send('OPTIONS', '/api/v1/jobs', { headers: preflight })).status).toBe(204);
    await close();
  });
});

describe('metrics', () => {
  it('are by route pattern and status, never by path or tenant', async () => {
    const { a, nobody, metrics, close } = await startApp();
    await a.get('/api/v1/jobs/one');
    await a.get('/api/v1/jobs/two');
    await a.post('/api/v1/jobs', {});
    await nobody.get('/secret-path');
    const page = await metrics.text();
    const counts = page.split('\n').filter((line) => line.startsWith('millrace_http_request_duration_seconds_count'));
    expect(counts).toContain(
      'millrace_http_request_duration_seconds_count{method="GET",route="/api/v1/jobs/:id",status="200"} 2',
    );
    expect(counts).toContain(
      'millrace_http_request_duration_seconds_count{method="POST",route="/api/v1/jobs",status="400"} 1',
    );
    expect(counts).toContain(
      'millrace_http_request_duration_seconds_count{method="any",route="unknown",status="404"} 1',
    );
    expect(page).not.toMatch(/secret-path|tenant-a/);
    await close();
  });
});

describe('shutdown', () => {
  it('answers requests in flight, announces that the connection closes, and closes it', async () => {
    let finish!: () => void;
    let begun!: () => void;
    const started = new Promise<void>((resolve) => (begun = resolve));
    const cancel = () => (begun(), new Promise<void>((resolve) => (finish = resolve)));
    let stopping = false;
    const { a, close } = await startApp({ engine: { jobs: { cancel } }, isShuttingDown: () => stopping });
    const reply = a.post('/api/v1/jobs/x/cancel');
    await started;
    stopping = true;
    const closed = close();
    finish();
    expect((await reply).status).toBe(204);
    expect((await reply).headers.get('connection')).toBe('close');
    await closed;
  });

  it('does not wait for a connection that never sent a request', async () => {
    const { port, nobody, close } = await startApp();
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    await nobody.get('/health');
    const gone = once(socket, 'close');
    await close();
    await gone;
  });

  it('closes idle connections', async () => {
    const { app, port, close } = await startApp();
    // Neither side would ever close it by itself.
    app.server.keepAliveTimeout = 0;
    const socket = connect(port, '127.0.0.1');
    socket.write(`GET /health HTTP/1.1\r\nhost: x\r\nconnection: keep-alive\r\n\r\n`);
    await once(socket, 'data');
    const gone = once(socket, 'close');
    await close();
    await gone;
  });
});
