import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { until } from '../../support/until.js';
import {
  CREATED,
  JOB_ID,
  jobRecord,
  KEY_A,
  LEASE_TOKEN,
  startApp,
  type TestApp,
  type TestAppOptions,
} from '../harness.js';

/** Engine calls that end only when the test says so, so that it controls exactly how much is in flight. */
function holding() {
  const held: (() => void)[] = [];
  return {
    hold:
      <T>(value: T) =>
      async (): Promise<T> => {
        await new Promise<void>((resolve) => held.push(resolve));
        return value;
      },
    count: () => held.length,
    letGo: () => held.splice(0).forEach((resolve) => resolve()),
  };
}

async function start(options: TestAppOptions): Promise<TestApp> {
  const app = await startApp(options);
  onTestFinished(() => app.close());
  return app;
}

const ROOM = 4;
const create = { task_name: 'echo' };
const report = { lease_token: LEASE_TOKEN, extend_secs: 30, result: {}, error: 'no' };

async function startFull(maxInFlight = ROOM, body: object = create, requests = maxInFlight) {
  const work = holding();
  const app = await start({ maxInFlight, engine: { jobs: { create: work.hold(CREATED) } } });
  const answers = Array.from({ length: requests }, () => app.a.post('/api/v1/jobs', body));
  await until(() => work.count() === requests, { what: 'the service to be full' });
  return { app, work, answers };
}

const shed = async ({ metrics }: TestApp, load: string): Promise<number> =>
  Number(
    new RegExp(`^millrace_requests_shed_total\\{load="${load}"\\} (\\d+)`, 'm').exec(await metrics.text())?.[1] ?? 0,
  );

describe('at the limit of new work', () => {
  it.each([
    ['POST', '/jobs', create],
    ['POST', '/jobs/batch', { jobs: [create] }],
    ['GET', '/jobs', undefined],
    ['GET', `/jobs/${JOB_ID}`, undefined],
    ['GET', '/dlq', undefined],
    ['GET', '/queues', undefined],
    ['POST', '/workflows', { name: 'w', steps: [{ name: 's', task_name: 't' }] }],
    ['POST', '/cron', { name: 'c', cron_expr: '* * * * *', task_name: 't' }],
    ['GET', `/jobs/${JOB_ID}/events`, undefined],
  ])('%s %s is shed', async (method, path, body) => {
    const { app, work } = await startFull();
    const reply = await app.a.send(method, `/api/v1${path}`, { body });
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(reply.body).toEqual({
      error: 'the server is overloaded; try again shortly',
      code: 'unavailable',
      timestamp: expect.any(String),
    });
    expect(work.count()).toBe(ROOM);
    work.letGo();
  });

  it('a lease is shed too, after authentication', async () => {
    const { app, work } = await startFull();
    expect((await app.worker.post('/api/v1/queues/q/lease')).status).toBe(503);
    expect((await app.nobody.post('/api/v1/jobs', create)).status).toBe(401);
    expect((await app.a.post('/api/v1/queues/q/lease')).status).toBe(403);
    expect(await shed(app, 'waiting')).toBe(1);
    expect(await shed(app, 'new')).toBe(0);
    work.letGo();
  });

  it('reports and probes are admitted', async () => {
    const { app, work } = await startFull();
    for (const what of ['heartbeat', 'complete', 'fail'])
      expect((await app.worker.post(`/api/v1/jobs/${JOB_ID}/${what}`, report)).status).toBeLessThan(300);
    expect((await app.a.post(`/api/v1/jobs/${JOB_ID}/cancel`)).status).toBe(204);
    expect((await app.nobody.get('/health')).status).toBe(200);
    expect((await app.nobody.get('/ready')).status).toBe(200);
    expect(await app.metrics.text()).toMatch(new RegExp(`^millrace_requests_in_flight\\{load="new"\\} ${ROOM}$`, 'm'));
    work.letGo();
  });

  it('new work is admitted again as soon as there is room', async () => {
    const { app, work, answers } = await startFull();
    expect((await app.a.get('/api/v1/jobs')).status).toBe(503);
    expect(await shed(app, 'new')).toBe(1);
    work.letGo();
    for (const answer of await Promise.all(answers)) expect(answer.status).toBe(201);
    expect((await app.a.get('/api/v1/jobs')).status).toBe(200);
    expect(await app.metrics.text()).toMatch(/^millrace_requests_in_flight\{load="new"\} 0$/m);
  });

  it('a body is refused before it is sent', async () => {
    const { app, work } = await startFull();
    const socket = connect(app.port, '127.0.0.1');
    const head = ['POST /api/v1/jobs HTTP/1.1', 'Host: x', `Authorization: Bearer ${KEY_A}`, 'Content-Length: 1000000'];
    socket.write(`${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n{`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 503 /);
    socket.destroy();
    work.letGo();
  });
});

describe('the limit', () => {
  it('still counts a request whose client leaves before the work is done', async () => {
    const work = holding();
    const app = await start({ maxInFlight: 1, engine: { jobs: { create: work.hold(CREATED) } } });
    const leaving = new AbortController();
    const left = app.a.send('POST', '/api/v1/jobs', { body: create, signal: leaving.signal });
    await until(() => work.count() === 1);
    leaving.abort();
    await expect(left).rejects.toThrow();
    const sockets = (): Promise<number> =>
      new Promise((resolve) => app.app.server.getConnections((_, n) => resolve(n)));
    await until(async () => (await sockets()) === 0, { what: 'the server to see that the client left' });
    expect((await app.a.get('/api/v1/jobs')).status).toBe(503);
    work.letGo();
    await until(async () => (await app.a.get('/api/v1/jobs')).status === 200);
  });

  it('no longer counts a client that leaves in the middle of its request', async () => {
    const app = await start({ maxInFlight: 1 });
    const socket = connect(app.port, '127.0.0.1');
    const head = ['POST /api/v1/jobs HTTP/1.1', 'Host: x', `Authorization: Bearer ${KEY_A}`, 'Content-Length: 100'];
    socket.write(`${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n{`);
    await until(async () => (await app.a.get('/api/v1/jobs')).status === 503, { what: 'the request to be let in' });
    socket.destroy();
    await until(async () => (await app.a.get('/api/v1/jobs')).status === 200, { what: 'its room' });
  });

  it('does not count refused requests', async () => {
    const app = await start({ maxInFlight: 1 });
    for (const body of [{}, '{', { ...create, run_at: 'soon' }])
      expect((await app.a.post('/api/v1/jobs', body)).status).toBe(400);
    expect((await app.a.post('/api/v1/jobs', 'x', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await app.a.post('/api/v1/jobs', create)).status).toBe(201);
  });

  it('counts a large body like many small ones', async () => {
    // Each counts as four of sixteen: one, plus one per 16 KiB.
    const large = { ...create, payload: { text: 'x'.repeat(50_000) } };
    const { app, work } = await startFull(16, large, 4);
    expect((await app.a.post('/api/v1/jobs', create)).status).toBe(503);
    work.letGo();
  });

  it('admits one request of any size', async () => {
    const app = await start({ maxInFlight: 1 });
    const huge = { ...create, payload: { text: 'x'.repeat(1_000_000) } };
    expect((await app.a.post('/api/v1/jobs', huge)).status).toBe(201);
  });

  it('does not count waiting lease calls', async () => {
    const work = holding();
    const app = await start({ maxInFlight: 1, engine: { worker: { lease: work.hold([]) } } });
    const polls = Array.from({ length: 5 }, () => app.worker.post('/api/v1/queues/q/lease', { wait_secs: 30 }));
    await until(() => work.count() === 5, { what: 'five long polls' });
    expect((await app.a.post('/api/v1/jobs', create)).status).toBe(201);
    work.letGo();
    for (const poll of await Promise.all(polls)) expect(poll.status).toBe(200);
  });

  it('exists for reports as well, but is much higher', async () => {
    const work = holding();
    const app = await start({ maxInFlight: 2, engine: { worker: { complete: work.hold(undefined) } } });
    const path = `/api/v1/jobs/${JOB_ID}`;
    const reports = Array.from({ length: 8 }, () => app.worker.post(`${path}/complete`, report));
    await until(() => work.count() === 8, { what: 'eight reports' });
    expect((await app.worker.post(`${path}/heartbeat`, report)).status).toBe(503);
    expect(await shed(app, 'vital')).toBe(1);
    expect((await app.a.get(path)).body).toMatchObject({ id: jobRecord().id });
    work.letGo();
    for (const answer of await Promise.all(reports)) expect(answer.status).toBe(204);
  });
});

describe('refusals', () => {
  it('are sent at once, but in a storm most of them are delayed', async () => {
    const { app, work } = await startFull();
    // The clock stands still: however busy the machine is, all of them come within a tenth of a second.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const refused = await Promise.all(Array.from({ length: 300 }, () => app.a.get('/api/v1/jobs')));
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]));
    expect(timers.mock.calls.filter(([, ms]) => ms === 1_000)).toHaveLength(250);
    expect(await shed(app, 'new')).toBe(300);
    work.letGo();
  });
});

describe('connections', () => {
  it('beyond the limit are closed, and counted', async () => {
    const app = await start({ maxConnections: 2 });
    const open = [connect(app.port, '127.0.0.1'), connect(app.port, '127.0.0.1')];
    const served = (): Promise<number> => new Promise((resolve) => app.app.server.getConnections((_, n) => resolve(n)));
    await until(async () => (await served()) === 2);
    const third = connect(app.port, '127.0.0.1');
    third.on('error', () => undefined);
    await once(third, 'close');
    expect(await app.metrics.text()).toMatch(/^millrace_connections_dropped_total 1$/m);
    open[0]!.destroy();
    await until(async () => (await served()) === 1);
    expect((await app.nobody.get('/health')).status).toBe(200);
    open[1]!.destroy();
  });
});
