import { createServer, type Socket } from 'node:net';
import { listen, PATIENCE_MS } from '@millrace/tools-shared';
import { afterEach, describe, expect, it } from 'vitest';
import { MalformedAnswer, parseAnswer } from '../src/answer.js';
import type { Case } from '../src/draft.js';
import { RawClient } from '../src/raw-client.js';
import { shrink } from '../src/shrink.js';
import { dawdle } from '../src/slow.js';

const parse = (text: string, method = 'GET', isEnd = true): ReturnType<typeof parseAnswer> =>
  parseAnswer(Buffer.from(text, 'latin1'), method, isEnd);

describe('answers', () => {
  it.each([
    ['by length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi', 'hi'],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n', 'hi'],
    ['to the end of the connection', 'HTTP/1.1 200 OK\r\n\r\nhi', 'hi'],
    ['after an interim answer', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi', 'hi'],
    ['with no body by rule', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
  ])('are read %s', (_how, text, body) => {
    expect(parse(text)?.answer.body.toString()).toBe(body);
  });

  it.each(['', 'Transfer-Encoding: chunked\r\n'])(
    'that are streams count as complete with their first event: %j',
    (encoding) => {
      const head = `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n${encoding}\r\n`;
      const event = encoding === '' ? 'data: x\n\n' : '9\r\ndata: x\n\n\r\n';
      expect(parse(head, 'GET', false)).toBeNull();
      expect(parse(head + event, 'GET', false)?.answer).toMatchObject({ isOpen: true, status: 200 });
    },
  );

  it('have no body when only the head was asked for', () => {
    expect(parse('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n', 'HEAD')?.answer.body.length).toBe(0);
  });

  it.each([
    'HTP/1.1 200 OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\nBad Header: x\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200',
  ])('that are malformed are recognised: %j', (text) => {
    expect(() => parse(text)).toThrow(MalformedAnswer);
  });
});

describe('a client', () => {
  const servers: { close(): void }[] = [];
  afterEach(() => servers.splice(0).forEach((server) => server.close()));

  async function serve(onSocket: (socket: Socket) => void): Promise<number> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      onSocket(socket);
    });
    servers.push({ close: () => (server.close(), sockets.forEach((socket) => socket.destroy())) });
    return listen(server);
  }

  const draft = { method: 'GET', target: '/', version: '1.1', headers: [], body: null } as const;
  const testCase = { draft, operation: { id: 'getHealth' }, kind: 'none' } as unknown as Case;

  it('distinguishes a closed connection from an answer', async () => {
    const port = await serve((socket) => socket.end());
    expect(await new RawClient(port).send(testCase)).toEqual({ kind: 'closed' });
  });

  it('sees two answers if the server took one request for two', async () => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
    const port = await serve((socket) => socket.end(answer + answer));
    const outcome = await new RawClient(port).send({ ...testCase, raw: Buffer.from('x') });
    expect(outcome.kind === 'answered' && outcome.answers.length).toBe(2);
  });

  it('that is slow finds out whether it is cut off', async () => {
    const patient = await serve(() => undefined);
    const strict = await serve((socket) => socket.destroy());
    const forever = new AbortController().signal;
    const slow = { name: 'slow.x', start: 'G', drip: 'x', limitMs: 200 };
    expect(await dawdle(patient, slow, forever)).toMatchObject({ rule: 'slow-client' });
    // It is cut off at once, but a busy machine may see that late.
    expect(await dawdle(strict, { ...slow, limitMs: PATIENCE_MS }, forever)).toBeNull();
  });
});

it('a failing request shrinks to the part that makes it fail', async () => {
  const body = Buffer.from(JSON.stringify({ a: 1, bad: true, c: { d: 'x'.repeat(500) }, e: [1, 2, 3] }));
  const headers = [
    ['Host', 'x'],
    ['X-Other', 'y'],
  ] as const;
  const draft = { method: 'POST', target: '/', version: '1.1', headers, body } as const;
  const smallest = await shrink(
    { draft } as unknown as Case,
    async (candidate) => candidate.draft.body?.includes('bad') ?? false,
  );
  expect(smallest.draft).toMatchObject({ headers: [], body: expect.any(Buffer) });
  expect(smallest.draft.body!.length).toBeLessThan(15);
});
