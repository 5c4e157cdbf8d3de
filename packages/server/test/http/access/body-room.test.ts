import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JobSpec } from '../../../src/domain/records.js';
import { until } from '../../support/until.js';
import { bodyOf, KEY_A, KEY_B, READ_KEY_A, startApp, type TestApp, type TestAppOptions } from '../harness.js';

const KIB = 1024;
const MIB = 1024 * KIB;

async function start(options: TestAppOptions): Promise<TestApp> {
  const app = await startApp(options);
  onTestFinished(() => app.close());
  return app;
}

interface Sending {
  readonly socket: Socket;
  readonly answer: () => string;
  readonly send: (text: string) => void;
}

/** A request without a length, whose body the test sends piece by piece. */
function sendInChunks({ port }: TestApp, path: string, key: string): Sending {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('error', () => undefined).on('data', (chunk: Buffer) => (answer += chunk.toString()));
  onTestFinished(() => void socket.destroy());
  const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json'];
  socket.write(`${head.join('\r\n')}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const send = (text: string): void => void socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
  return { socket, send, answer: () => answer };
}

const metric = async ({ metrics }: TestApp, name: string): Promise<number> =>
  Number(new RegExp(`^millrace_${name} (\\d+)`, 'm').exec(await metrics.text())?.[1] ?? NaN);
const bytesHeld = (app: TestApp): Promise<number> => metric(app, 'request_body_bytes');
const untilHeld = (app: TestApp, bytes: number): Promise<unknown> =>
  until(async () => (await bytesHeld(app)) >= bytes || `${await bytesHeld(app)} bytes are held`);

const beginning = (bytes: number): string => `{"task_name":"t","payload":{"s":"${'x'.repeat(bytes)}`;

describe('a body without a length', () => {
  it.each([
    ['of a create', '/api/v1/jobs', KEY_A],
    ['of a reader that waits for jobs', '/api/v1/jobs/wait', READ_KEY_A],
  ])('%s counts as it arrives, and is refused when nothing is left', async (_what, path, key) => {
    const app = await start({ maxInFlight: 64 });
    // Each takes thirteen: one, and one for each 16 KiB. Those for their bodies are all that a tenant's may take.
    const bodies = Array.from({ length: 4 }, () => sendInChunks(app, path, key));
    for (const body of bodies) body.send(beginning(200_000));
    await untilHeld(app, 800_000);
    expect(await app.metrics.text()).toMatch(/^millrace_requests_in_flight\{load="new"\} 52$/m);

    const [last] = bodies;
    last!.send('x'.repeat(50_000));
    await until(() => last!.socket.closed, { what: 'the end of the connection' });
    expect(last!.answer()).toMatch(/^HTTP\/1.1 503 /);
    expect(last!.answer().toLowerCase()).toContain('\r\nconnection: close\r\n');
    expect(bodyOf(last!.answer())).toMatchObject({ code: 'unavailable' });
    await until(async () => (await bytesHeld(app)) < 800_000, { what: 'what it held to be free again' });
    expect(await app.metrics.text()).toMatch(/^millrace_requests_in_flight\{load="new"\} 39$/m);
    expect(await app.metrics.text()).toMatch(/^millrace_requests_shed_total\{load="(new|waiting)"\} 1$/m);
  });

  it('leaves room to other tenants', async () => {
    const app = await start({ maxInFlight: 64 });
    // Each would take sixteen, which is all that one request is ever charged: four of them would take everything.
    const bodies = [];
    for (let n = 0; n < 4; n++) {
      const body = sendInChunks(app, '/api/v1/jobs', KEY_A);
      body.send(beginning(300 * KIB));
      bodies.push(body);
      const isIn = async (): Promise<boolean> => (await bytesHeld(app)) >= (n + 1) * 300 * KIB;
      await until(async () => body.socket.closed || (await isIn()), { what: 'a body to arrive' });
    }
    expect(bodies.map(({ socket }) => socket.closed)).toEqual([false, false, false, true]);
    expect((await app.as(KEY_B).post('/api/v1/jobs', { task_name: 't' })).status).toBe(201);
  });

  it('holds no more than the budget of the process, however many may be in flight', async () => {
    const app = await start({ maxInFlight: 1_000_000 });
    const bodies = Array.from({ length: 6 }, () => sendInChunks(app, '/api/v1/jobs/batch', KEY_A));
    for (const body of bodies) {
      body.send(`{"jobs":[${beginning(0)}`);
      for (let n = 0; n < 15; n++) body.send('x'.repeat(MIB));
    }
    await until(() => bodies.filter(({ socket }) => socket.closed).length >= 2, { what: 'two refusals' });
    await untilHeld(app, 50 * MIB);
    expect(await bytesHeld(app)).toBeLessThanOrEqual(64 * MIB);
    for (const { answer, socket } of bodies) if (socket.closed) expect(answer()).toMatch(/^(HTTP\/1.1 503 |$)/);
    for (const { socket } of bodies) socket.destroy();
    await until(async () => (await bytesHeld(app)) === 0, { what: 'nothing to be held' });
  });

  it('may come byte by byte', async () => {
    const app = await start({});
    const { send, answer, socket } = sendInChunks(app, '/api/v1/jobs', KEY_A);
    const text = JSON.stringify({ task_name: 't', payload: { s: 'abc'.repeat(3_000) } });
    for (const byte of text) send(byte);
    socket.write('0\r\n\r\n');
    await until(() => answer() !== '', { what: 'the answer' });
    expect(answer()).toMatch(/^HTTP\/1.1 201 /);
    expect((app.engine.last('jobs.create')[1] as JobSpec).payload).toBe(`{"s":"${'abc'.repeat(3_000)}"}`);
  });

  it('may not come in more pieces than any client would send', async () => {
    const app = await start({});
    const { answer, socket } = sendInChunks(app, '/api/v1/jobs', KEY_A);
    socket.write(`1\r\n{\r\n${'1\r\n \r\n'.repeat(70_000)}`);
    await until(() => socket.closed, { what: 'the end of the connection' });
    expect(answer()).toMatch(/^(HTTP\/1.1 400 |$)/);
    await until(async () => (await bytesHeld(app)) === 0, { what: 'nothing to be held' });
  });
});
