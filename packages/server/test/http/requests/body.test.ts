import { describe, expect, it } from 'vitest';
import type { JobSpec } from '../../../src/domain/records.js';
import { bodyOf, exchange, JOB_ID, KEY_A, LEASE_TOKEN, startApp, useApp } from '../harness.js';

const TYPE = 'content-type';

describe('bodies', async () => {
  const { a, worker, engine, app, port } = await useApp();
  const created = (): JobSpec => engine.last('jobs.create')[1] as JobSpec;

  it.each([
    ['nothing', ''],
    ['a broken object', '{"task_name":'],
    ['two values', '{"task_name":"a"} {}'],
    ['a trailing comma', '{"task_name":"a",}'],
    ['single quotes', "{'task_name':'a'}"],
    ['a raw control character', '{"task_name":"a\nb"}'],
    ['an array', '[{"task_name":"a"}]'],
    ['a string', '"task_name"'],
    ['a number', '7'],
    ['null', 'null'],
    ['true', 'true'],
  ])('%s is a 400', async (_what, body) => {
    const reply = await a.post('/api/v1/jobs', body);
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_request']);
  });

  it('invalid UTF-8 is a 400', async () => {
    const body = Buffer.concat([Buffer.from('{"task_name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    expect((await a.post('/api/v1/jobs', body)).body).toMatchObject({ code: 'invalid_request' });
  });

  it('a byte order mark is ignored', async () => {
    expect((await a.post('/api/v1/jobs', '\ufeff{"task_name":"a","payload":{"x":1}}')).status).toBe(201);
    expect(created().payload).toBe('{"x":1}');
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;charset="UTF-8"'])(
    'takes %s',
    async (type) => {
      expect((await a.post('/api/v1/jobs', { task_name: 'a' }, { [TYPE]: type })).status).toBe(201);
    },
  );

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'application/json+x',
    'nonsense',
    ';',
  ])('refuses %s with 415', async (type) => {
    const reply = await a.post('/api/v1/jobs', '{"task_name":"a"}', { [TYPE]: type });
    expect([reply.status, reply.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it('refuses a body without a type with 415', async () => {
    const body = '{"task_name":"a"}';
    const head = `POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY_A}\r\nConnection: close\r\n`;
    const answer = await exchange(port, `${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(answer).toMatch(/^HTTP\/1.1 415 /);
    expect(bodyOf(answer)).toMatchObject({ code: 'unsupported_media_type' });
  });

  it('refuses compressed bodies with 415', async () => {
    const reply = await a.post('/api/v1/jobs', '{"task_name":"a"}', { 'content-encoding': 'gzip' });
    expect([reply.status, reply.body.code]).toEqual([415, 'unsupported_media_type']);
  });

  it.each([
    ['cancel', 'a', `/api/v1/jobs/${JOB_ID}/cancel`, 204],
    ['replay', 'a', '/api/v1/dlq/1/replay', 201],
    ['lease', 'worker', '/api/v1/queues/q/lease', 200],
  ] as const)('%s accepts an empty body, with or without a type', async (_what, who, path, status) => {
    const authorization = `Bearer ${who === 'a' ? KEY_A : 'token-of-the-workers'}`;
    for (const type of [undefined, 'application/json', 'application/x-www-form-urlencoded']) {
      const headers = { authorization, ...(type !== undefined && { [TYPE]: type }) };
      const reply = await app.inject({ method: 'POST', url: path, headers });
      expect([type, reply.statusCode]).toEqual([type, status]);
    }
    const chunked = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n`;
    const answer = await exchange(port, `${chunked}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`);
    expect(answer).toContain(`HTTP/1.1 ${status} `);
  });

  it('a body where none is needed must still be JSON', async () => {
    expect((await a.post(`/api/v1/jobs/${JOB_ID}/cancel`, { why: 'because' })).status).toBe(204);
    expect((await a.post(`/api/v1/jobs/${JOB_ID}/cancel`, '{"why')).status).toBe(400);
    expect((await a.post(`/api/v1/jobs/${JOB_ID}/cancel`, [])).status).toBe(400);
    expect((await worker.post('/api/v1/queues/q/lease', [])).status).toBe(400);
  });

  it.each([
    ['numbers beyond 2^53', '{"n":12345678901234567890,"x":1.10,"y":1e400}'],
    ['the order of keys', '{"b":1,"10":2,"a":3,"2":4}'],
    ['escapes as they were spelt', '{"s":"\\u0041\\/\\u00e9"}'],
    ['NUL', '{"s":"a\\u0000b"}'],
    ['lone surrogates', '{"s":"\\ud800"}'],
    ['duplicate keys', '{"a":1,"a":2}'],
    ['white space', '{ "a" :\n\t[ 1 ,\r\n2 ] }'],
    ['the key __proto__', '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'],
    ['what is not ASCII', '{"s":"ü€😀\u2028"}'],
  ])('stores %s exactly as sent', async (_what, json) => {
    const body = ` { "task_name" : "a" , "payload" :  ${json} , "metadata":${json}}`;
    expect((await a.post('/api/v1/jobs', body)).status).toBe(201);
    expect(created()).toMatchObject({ payload: json, metadata: json });
    await worker.post(`/api/v1/jobs/${JOB_ID}/complete`, `{"result":${json},"lease_token":"${LEASE_TOKEN}"}`);
    expect(engine.last('worker.complete')).toEqual([JOB_ID, LEASE_TOKEN, json, null]);
    const items = [`{"task_name":"a"}`, `{"payload":${json},"task_name":"b"}`, `{"metadata":${json},"task_name":"c"}`];
    const batch = `{"jobs":[${items.join()}]}`;
    expect((await a.post('/api/v1/jobs/batch', batch)).status).toBe(201);
    expect(engine.last('jobs.createBatch')[1]).toMatchObject([
      { task: 'a', payload: '{}', metadata: null },
      { task: 'b', payload: json, metadata: null },
      { task: 'c', payload: '{}', metadata: json },
    ]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('the last one of a duplicate field counts, in every respect', async () => {
    await a.post('/api/v1/jobs', '{"task_name":"a","payload":{"first":1},"payload":{"last":2},"task_name":"b"}');
    expect(created()).toMatchObject({ task: 'b', payload: '{"last":2}' });
    await a.post('/api/v1/jobs', '{"task_name":"a","payload":{"first":1},"payload":null}');
    expect(created().payload).toBe('{}');
    expect((await a.post('/api/v1/jobs', '{"task_name":"a","payload":{},"payload":[]}')).status).toBe(400);
  });

  it('refuses JSON that is nested too deeply for the database, and only that', async () => {
    const nested = (levels: number): string =>
      `{"task_name":"a","payload":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;
    expect((await a.post('/api/v1/jobs', nested(999))).status).toBe(201);
    expect((await a.post('/api/v1/jobs', nested(1000))).status).toBe(400);
    expect((await a.post('/api/v1/jobs', nested(200_000))).status).toBe(400);
    const wide = `{"task_name":"a","payload":{"s":${JSON.stringify('['.repeat(5000))}}}`;
    expect((await a.post('/api/v1/jobs', wide)).status).toBe(201);
  });

  it('accepts a thousand jobs of 5 kB', async () => {
    const jobs = Array.from({ length: 1000 }, (_, n) => ({ task_name: 'a', payload: { n, s: 'x'.repeat(5000) } }));
    const reply = await a.post('/api/v1/jobs/batch', { jobs });
    expect([reply.status, reply.body.count]).toEqual([201, 1000]);
  });
});

describe('a body over the limit', () => {
  it.each([
    ['declared', false],
    ['in chunks', true],
  ])('is a 413 with the usual body: %s', async (_what, chunked) => {
    const { url, a, close } = await startApp({ maxBodyBytes: 1000 });
    for (const size of [1001, 100_000, 8_000_000]) {
      const text = JSON.stringify({ task_name: 'a', payload: { s: 'x'.repeat(size) } });
      const body = chunked ? new Blob([text]).stream() : text;
      const response = await fetch(`${url}/api/v1/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY_A}`, [TYPE]: 'application/json' },
        body,
        duplex: 'half',
      });
      expect([size, response.status]).toEqual([size, 413]);
      expect(await response.json()).toMatchObject({ code: 'payload_too_large' });
    }
    expect((await a.post('/api/v1/jobs', { task_name: 'a' })).status).toBe(201);
    await close();
  });
});
