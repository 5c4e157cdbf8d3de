import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../support/until.js';
import { bodyOf, CREATED, JOB_ID, KEY_A, startApp, useApp, type TestApp } from '../harness.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

interface Conversation {
  readonly socket: Socket;
  readonly answer: () => string;
  readonly closed: () => boolean;
}

function talk({ port }: TestApp, text: string): Conversation {
  let answer = '';
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => (answer += chunk));
  socket.on('error', () => undefined);
  socket.write(text);
  return { socket, answer: () => answer, closed: () => socket.closed };
}

const head = (method: string, path: string, token: string, ...more: string[]): string =>
  [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...more, '\r\n'].join('\r\n');

const JSON_BODY = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';

describe('an answer that is given before the body has arrived', async () => {
  const app = await useApp({ maxBodyBytes: 2 * MIB });

  const early: readonly (readonly [status: number, method: string, path: string, token: string])[] = [
    [401, 'POST', '/api/v1/jobs', 'wrong'],
    [401, 'POST', '/api/v1/%ff', 'wrong'],
    [403, 'POST', `/api/v1/jobs/${JOB_ID}/complete`, KEY_A],
    [404, 'POST', '/nowhere', KEY_A],
    [400, 'POST', '/api/v1/%ff', KEY_A],
    [200, 'GET', '/api/v1/jobs', KEY_A],
  ];

  it.each([...early, [413, 'POST', '/api/v1/jobs', KEY_A] as const])(
    '%i to %s %s closes the connection if a gigabyte is announced',
    async (status, method, path, token) => {
      const { answer, closed } = talk(app, head(method, path, token, JSON_BODY, `Content-Length: ${GIB}`));
      await until(closed, { what: 'the end of the connection' });
      expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer().toLowerCase()).toContain('\r\nconnection: close\r\n');
    },
  );

  it.each(early)('%i to %s %s closes the connection if the body does not end', async (status, method, path, token) => {
    const { socket, answer, closed } = talk(app, head(method, path, token, JSON_BODY, CHUNKED));
    const chunk = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
    const send = (): void => {
      while (!socket.destroyed && socket.bytesWritten < GIB && socket.write(chunk));
      if (socket.bytesWritten < GIB) socket.once('drain', send);
    };
    send();
    await until(closed, { what: 'the end of the connection' });
    expect(socket.bytesWritten).toBeLessThan(64 * MIB);
    // What was still on its way when the connection was closed may have swept the answer away.
    if (answer() !== '') expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it.each(early)('%i to %s %s leaves the connection open if a little is left', async (status, method, path, token) => {
    const { socket, answer } = talk(app, head(method, path, token, JSON_BODY, `Content-Length: ${MIB}`));
    await until(() => answer().includes('\r\n\r\n'), { what: 'the answer' });
    expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    socket.write('x'.repeat(MIB));
    socket.write(head('GET', '/health', KEY_A));
    await until(() => answer().includes('"healthy"'), { what: 'the next answer' });
  });
});

describe('Expect: 100-continue', async () => {
  const app = await useApp({ maxBodyBytes: MIB });
  const body = '{"task_name":"t"}';
  const expecting = (token: string, length: number | string, path = '/api/v1/jobs'): string =>
    head('POST', path, token, JSON_BODY, 'Expect: 100-continue', `Content-Length: ${length}`);

  it('is met once the caller is known', async () => {
    const { socket, answer } = talk(app, expecting(KEY_A, body.length));
    await until(() => answer() === 'HTTP/1.1 100 Continue\r\n\r\n', { what: 'the interim answer' });
    socket.write(body);
    await until(() => answer().includes('HTTP/1.1 201 '), { what: 'the answer' });
    expect(answer()).toContain(JOB_ID);
  });

  it.each([
    ['a token that is not valid', 401, () => expecting('wrong', body.length)],
    ['a body that is too large', 413, () => expecting(KEY_A, 2 * MIB)],
    ['a path that leads nowhere', 404, () => expecting(KEY_A, body.length, '/nowhere')],
    ['a path that is no UTF-8', 400, () => expecting(KEY_A, body.length, '/api/v1/%ff')],
  ])('is answered with the refusal of %s', async (_what, status, request) => {
    const { answer, closed } = talk(app, request());
    await until(closed, { what: 'the end of the connection' });
    expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer()).not.toContain('100 Continue');
    expect(bodyOf(answer())).toMatchObject({ code: expect.any(String) });
  });

  it('is answered with 503 under overload', async () => {
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const full = await startApp({ maxInFlight: 1, engine: { jobs: { create: async () => (await held, CREATED) } } });
    onTestFinished(() => full.close());
    const first = full.a.post('/api/v1/jobs', { task_name: 't' });
    await until(() => full.engine.calls.length === 1);
    const { answer, closed } = talk(full, expecting(KEY_A, body.length));
    await until(closed, { what: 'the end of the connection' });
    expect(answer()).toMatch(/^HTTP\/1.1 503 /);
    letGo();
    expect((await first).status).toBe(201);
  });
});
