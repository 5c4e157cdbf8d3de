import { describe, expect, it } from 'vitest';
import { bodyOf, exchange, KEY_A, useApp } from '../harness.js';

describe('headers and queries', async () => {
  const { a, nobody, port, engine, app } = await useApp();

  it.each([
    ['Host', 'Host: x\r\nHost: y'],
    ['host', 'Host: x\r\nhost: x'],
    ['Authorization', `Host: x\r\nAuthorization: Bearer ${KEY_A}`],
    ['Idempotency-Key', 'Host: x\r\nIdempotency-Key: a\r\nIdempotency-Key: b'],
  ])('two of %s are a 400', async (name, lines) => {
    const calls = engine.calls.length;
    const head = `POST /api/v1/jobs HTTP/1.1\r\nAuthorization: Bearer ${KEY_A}\r\n${lines}\r\nConnection: close\r\n`;
    const answer = await exchange(
      port,
      `${head}Content-Type: application/json\r\nContent-Length: 17\r\n\r\n{"task_name":"t"}`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(bodyOf(answer)).toMatchObject({
      code: 'invalid_request',
      error: `the header ${name} is given more than once`,
    });
    expect(engine.calls.length).toBe(calls);
  });

  it('others may be repeated', async () => {
    const head = `GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY_A}\r\nConnection: close\r\n`;
    expect(await exchange(port, `${head}X-Forwarded-For: a\r\nX-Forwarded-For: b\r\n\r\n`)).toMatch(/^HTTP\/1.1 200 /);
  });

  it.each(['queue=%ff', 'queue=%c0%80', 'cursor=%zz', 'unknown=%e2%82', 'queue=a%'])(
    'a query that is no percent-encoded UTF-8 is a 400, after the credential: %s',
    async (query) => {
      const reply = await a.get(`/api/v1/jobs?${query}`);
      expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
      expect((await nobody.get(`/api/v1/jobs?${query}`)).status).toBe(401);
    },
  );

  it('a query in UTF-8 is read as such', async () => {
    expect((await a.get('/api/v1/jobs?queue=%C3%BC%20%F0%9F%98%80+%25')).status).toBe(200);
    expect(engine.last('jobs.list')[1]).toMatchObject({ queue: 'ü 😀 %' });
  });

  it.each(['/api/v1/jobs/%', '/api/v1/jobs/%ff', '/api/v1/%zz/x'])(
    'a path that is no UTF-8 is a 401 without a credential: %s',
    async (path) => {
      const refused = await nobody.get(path);
      expect([refused.status, refused.body.code]).toEqual([401, 'unauthorized']);
      expect(refused.headers.get('www-authenticate')).toBe('Bearer');
      expect((await a.get(path)).status).toBe(400);
      expect((await app.inject({ method: 'GET', url: path, headers: { authorization: 'Bearer x' } })).statusCode).toBe(
        401,
      );
    },
  );
});
