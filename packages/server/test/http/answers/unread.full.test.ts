import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../support/until.js';
import { CREATED, JOB_ID, jobRecord, KEY_A, startApp, states, type TestApp, type TestAppOptions } from '../harness.js';

/** Longer than a test lives: it says itself when the time is over. */
const UNREAD_MS = 3_600_000;
const MIB = 1024 * 1024;
const large = jobRecord({ payload: JSON.stringify({ text: 'x'.repeat(15 * MIB) }) });

async function start(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await startApp({ unreadMs: UNREAD_MS, engine: { jobs: { get: async () => large } }, ...options });
  onTestFinished(() => app.close());
  return app;
}

/** Asks, and reads nothing but what the test reads. */
function ask({ port }: TestApp, path: string, token = KEY_A): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  return socket;
}

/** The server's side of the connections that are made from here on. */
function servedSockets({ app }: TestApp): Socket[] {
  const sockets: Socket[] = [];
  app.server.on('connection', (socket: Socket) => void sockets.push(socket));
  return sockets;
}

/** As the socket finds out by its timer that nothing was taken for as long as it was told to wait. */
async function endTheTime([socket]: readonly Socket[]): Promise<void> {
  await until(() => socket!.writableLength > 0, { what: 'something to take' });
  expect(socket!.timeout).toBe(UNREAD_MS);
  socket!.emit('timeout');
}

const connections = ({ app }: TestApp): Promise<number> =>
  new Promise((resolve) => app.server.getConnections((_, n) => resolve(n)));

const metric = async ({ metrics }: TestApp, name: string): Promise<number> =>
  Number(new RegExp(`^millrace_${name} (\\d+)`, 'm').exec(await metrics.text())?.[1] ?? NaN);

async function headOf(socket: Socket): Promise<string> {
  await once(socket, 'readable');
  return (socket.read(12) as Buffer).toString();
}

describe('an answer that its client does not read', () => {
  it('is counted until it is cut off', async () => {
    const app = await start();
    const sockets = servedSockets(app);
    ask(app, `/api/v1/jobs/${JOB_ID}`);
    await until(async () => (await metric(app, 'unread_answer_bytes')) > 15 * MIB, { what: 'the answer' });
    await endTheTime(sockets);
    await until(async () => (await connections(app)) === 0, { what: 'the connection to be closed' });
    // The server closes its side before it has dealt with the end of the answer.
    await until(async () => (await metric(app, 'unread_answer_bytes')) === 0, { what: 'the count to go down' });
    expect(await metric(app, 'answers_cut_total')).toBe(1);
  });

  it('is cut off as an event of a stream too', async () => {
    const app = await start({ engine: { jobs: { watch: async () => states(large, large, large) } } });
    const sockets = servedSockets(app);
    ask(app, `/api/v1/jobs/${JOB_ID}/events`);
    await until(async () => (await metric(app, 'unread_answer_bytes')) > 15 * MIB, { what: 'the event' });
    await endTheTime(sockets);
    await until(async () => (await connections(app)) === 0, { what: 'the connection to be closed' });
    // The server closes its side before it has dealt with the end of the answer.
    await until(async () => (await metric(app, 'unread_answer_bytes')) === 0, { what: 'the count to go down' });
    expect(await metric(app, 'answers_cut_total')).toBe(1);
  });

  it('refuses its tenant further ones, and nobody else', async () => {
    const app = await start();
    const heads = await Promise.all(Array.from({ length: 6 }, () => headOf(ask(app, `/api/v1/jobs/${JOB_ID}`))));
    expect(heads.sort()).toEqual([...Array(4).fill('HTTP/1.1 200'), ...Array(2).fill('HTTP/1.1 503')]);
    const refused = await app.a.get(`/api/v1/jobs/${JOB_ID}`);
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    // Small answers, and those to anything but a read, are not refused.
    expect((await app.a.get('/api/v1/jobs')).status).toBe(200);
    const jobs = Array.from({ length: 1000 }, () => ({ task_name: 't' }));
    expect((await app.a.post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
    expect((await app.as('key-of-tenant-b').get(`/api/v1/jobs/${JOB_ID}`)).status).toBe(200);
  });

  it('is given to a client that is slow, and reads', async () => {
    const limit = 8_000;
    const app = await start({ unreadMs: limit });
    const socket = ask(app, `/api/v1/jobs/${JOB_ID}`);
    const startedAt = performance.now();
    let received = 0;
    // Much slower than the limit as a whole, and never as slow at a time.
    while (received < 15 * MIB && !socket.closed) {
      received += (socket.read() as Buffer | null)?.length ?? 0;
      await delay(40);
    }
    expect(received).toBeGreaterThan(15 * MIB);
    expect(performance.now() - startedAt).toBeGreaterThan(limit);
    expect(await metric(app, 'answers_cut_total')).toBe(0);
  });

  it('leaves the next request on its connection the usual time', async () => {
    const work = { answer: (): void => undefined };
    const slow = new Promise<void>((resolve) => (work.answer = resolve));
    const app = await start({
      unreadMs: 2_000,
      engine: {
        jobs: {
          get: async () => jobRecord({ payload: `{"s":"${'x'.repeat(100_000)}"}` }),
          create: async () => (await slow, CREATED),
        },
      },
    });
    expect((await app.a.get(`/api/v1/jobs/${JOB_ID}`)).status).toBe(200);
    const created = app.a.post('/api/v1/jobs', { task_name: 't' });
    await until(() => app.engine.last('jobs.create').length > 0);
    setTimeout(work.answer, 2_500);
    expect((await created).status).toBe(201);
  });
});
