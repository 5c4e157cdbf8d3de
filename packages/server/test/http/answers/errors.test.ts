import { Writable } from 'node:stream';
import { ERROR_CODES } from '@millrace/contract';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { MillraceError } from '../../../src/domain/errors.js';
import { bodyOf, exchange, KEY_A, startApp, useApp } from '../harness.js';

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  lease_lost: 409,
  already_replayed: 409,
  already_finished: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  misdirected_request: 421,
  unavailable: 503,
  internal: 500,
};

describe('what the engine throws', async () => {
  let thrown: Error = new Error();
  const { a } = await useApp({ engine: { jobs: { get: async () => Promise.reject(thrown) } } });

  it.each(ERROR_CODES)('%s has its status', async (code) => {
    thrown = new MillraceError(code, 'what happened');
    const reply = await a.get('/api/v1/jobs/x');
    expect(reply.status).toBe(STATUS[code]);
    expect(reply.body).toEqual({ error: 'what happened', code, timestamp: expect.stringMatching(RFC_3339) });
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
  });

  it('says when to retry if the database cannot be reached', async () => {
    thrown = new MillraceError('unavailable', 'the database is out of reach');
    expect(Number((await a.get('/api/v1/jobs/x')).headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it('reveals nothing about an internal fault', async () => {
    thrown = new Error('password=hunter2');
    const reply = await a.get('/api/v1/jobs/x');
    expect([reply.status, reply.body.code]).toEqual([500, 'internal']);
    expect(reply.text).not.toContain('hunter2');
  });

  it('ignores a status that a foreign error claims', async () => {
    thrown = Object.assign(new Error('odd'), { statusCode: 200 });
    expect((await a.get('/api/v1/jobs/x')).status).toBe(500);
  });
});

describe('faults', () => {
  it('are logged with the id of their request', async () => {
    const lines: string[] = [];
    const logger = pino(
      { level: 'error' },
      new Writable({ write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()) }),
    );
    const fail = async (): Promise<never> => Promise.reject(new Error('the disk is on fire'));
    const { a, close } = await startApp({ logger, engine: { jobs: { get: fail } } });
    await a.get('/api/v1/jobs/x', { 'x-request-id': 'my-request' });
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { reqId: 'my-request', err: { message: 'the disk is on fire' } },
    ]);
    await close();
  });
});

describe('requests to unknown routes', async () => {
  const { a, nobody, port, app } = await useApp();

  it.each([
    ['GET', '/metrics'],
    ['GET', '/api'],
    ['GET', '/api/v2/jobs'],
    ['GET', '/nowhere?token=secret'],
  ])('%s %s is a 404 with the usual body', async (method, path) => {
    const reply = await nobody.send(method, path);
    expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
    expect(reply.text).not.toContain('secret');
  });

  it.each([
    ['PUT', '/api/v1/nowhere'],
    ['GET', '/api/v1/jobs/x/y'],
    ['POST', '/api/v1/jobs/x/y/z'],
  ])('%s %s is a 404 with the usual body', async (method, path) => {
    const reply = await a.send(method, path);
    expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
  });

  it('a body to an unknown route is a 404 too', async () => {
    for (const type of ['application/json', 'text/plain', 'nonsense']) {
      const reply = await a.send('POST', '/api/v1/nowhere', { body: '{"x', headers: { 'content-type': type } });
      expect(reply.body?.code, type).toMatch(/not_found|invalid_request|unsupported_media_type/);
    }
  });

  it('HEAD answers without a body', async () => {
    const reply = await nobody.send('HEAD', '/nowhere');
    expect([reply.status, reply.text]).toEqual([404, '']);
    expect((await nobody.send('HEAD', '/health')).status).toBe(200);
  });

  it.each(['/api/v1/jobs/%', '/api/v1/jobs/%zz', '/api/v1/jobs/%ff', '/api/v1/queues/%c0%80/lease', '/%e0%a4%a'])(
    'a path that is not UTF-8 is a 400: %s',
    async (path) => {
      const reply = await a.get(path);
      expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
    },
  );

  it('an id of any length reaches the engine', async () => {
    expect((await a.get(`/api/v1/jobs/${'x'.repeat(8000)}`)).status).toBe(200);
  });

  const head = `Host: localhost\r\nAuthorization: Bearer ${KEY_A}\r\n`;

  it.each([
    ['headers beyond the limit', 431, `GET /health HTTP/1.1\r\n${head}X-Big: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['a request line beyond the limit', 431, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${head}\r\n`],
    ['a path that is no UTF-8', 400, `GET /api/v1/%c0%af HTTP/1.1\r\n${head}Connection: close\r\n\r\n`],
    ['no HTTP at all', 400, 'hello there\r\n\r\n'],
    ['an unknown method', 400, `FETCH /health HTTP/1.1\r\n${head}\r\n`],
    ['a header that is none', 400, `GET /health HTTP/1.1\r\n${head}Broken Header\r\n\r\n`],
    ['NUL in a header', 400, `GET /health HTTP/1.1\r\n${head}X-Nul: a\0b\r\n\r\n`],
    ['no host', 400, `GET /health HTTP/1.1\r\nConnection: close\r\n\r\n`],
    ['two lengths', 400, `POST /api/v1/jobs HTTP/1.1\r\n${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['broken chunks', 400, `POST /api/v1/jobs HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    ['an unsupported expectation', 417, `GET /health HTTP/1.1\r\n${head}Expect: miracles\r\nConnection: close\r\n\r\n`],
  ])('%s: the body is the usual one', async (_what, status, request) => {
    const answer = await exchange(port, request);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    for (const header of [
      'content-type: application/json',
      'x-content-type-options: nosniff',
      'cache-control: no-store',
    ]) {
      expect(answer.toLowerCase()).toContain(header);
    }
    expect(bodyOf(answer)).toEqual({
      error: expect.any(String),
      code: 'invalid_request',
      timestamp: expect.stringMatching(RFC_3339),
    });
  });

  it('stays alive after all of that', async () => {
    expect((await nobody.get('/health')).status).toBe(200);
    expect(app.server.listening).toBe(true);
  });
});
