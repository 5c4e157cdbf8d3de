import { describe, expect, it } from 'vitest';
import { JOB_ID, useApp } from '../harness.js';

describe('a wrong method on a known path', async () => {
  const { a, worker, nobody, as } = await useApp();

  it.each([
    ['PUT', '/api/v1/jobs', 'GET, HEAD, POST'],
    ['DELETE', `/api/v1/jobs/${JOB_ID}`, 'GET, HEAD'],
    ['PATCH', '/api/v1/jobs/anything?x=y', 'GET, HEAD'],
    ['GET', `/api/v1/jobs/${JOB_ID}/cancel`, 'POST'],
    ['POST', '/api/v1/stats', 'GET, HEAD'],
    ['POST', '/api/v1/cron/by-name', 'DELETE, GET, HEAD, PUT'],
    ['POST', '/api/v1/cron/preview', 'DELETE, GET, HEAD, PUT'],
    ['PATCH', '/api/v1/dlq/7', 'GET, HEAD'],
    ['DELETE', '/api/v1/%6Aobs', 'GET, HEAD, POST'],
  ])('%s %s is a 405 that says which are allowed', async (method, path, allow) => {
    const reply = await a.send(method, path);
    expect([reply.status, reply.body.code]).toEqual([405, 'method_not_allowed']);
    expect(reply.headers.get('allow')).toBe(allow);
    expect(reply.body.error).toContain(allow);
  });

  it('is a 405 on worker routes, for workers', async () => {
    for (const path of [`/jobs/${JOB_ID}/complete`, '/queues/q/lease']) {
      const reply = await worker.get(`/api/v1${path}`);
      expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST']);
      expect((await a.get(`/api/v1${path}`)).status).toBe(403);
    }
  });

  it('asks for the credential first', async () => {
    for (const client of [nobody, as('no such token'), worker]) {
      const reply = await client.send('PUT', '/api/v1/jobs');
      expect([reply.status, reply.headers.get('allow')]).toEqual([401, null]);
    }
    expect((await nobody.get('/api/v1/queues/q/lease')).status).toBe(401);
  });

  it('needs no credential where the path needs none', async () => {
    const reply = await nobody.post('/health');
    expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('does not read the body', async () => {
    const reply = await a.send('PUT', '/api/v1/jobs', { body: '{"x', headers: { 'content-type': 'text/plain' } });
    expect(reply.status).toBe(405);
  });

  it('answers a HEAD without a body', async () => {
    const reply = await a.send('HEAD', `/api/v1/jobs/${JOB_ID}/cancel`);
    expect([reply.status, reply.text, reply.headers.get('allow')]).toEqual([405, '', 'POST']);
  });
});
