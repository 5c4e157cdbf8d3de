import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditEntry } from '@millrace/contract';
import { afterAll, describe, expect, it } from 'vitest';
import { createClient } from '../../support/client.js';
import { controlClock } from '../../support/clock.js';
import { cloneDatabase } from '../../support/database.js';
import { TENANT_A, TENANT_B, startTestServer } from '../../support/server.js';
import { startAnotherServer } from '../another-server.js';
import { createJob, newQueue } from '../kit.js';

interface Operation {
  readonly method: string;
  readonly path: string;
}

const ADA = 'token-of-ada-0d9e1b';

describe('an operator who reads as a tenant', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-readers-'));
  const adminTokenFile = join(folder, 'admin-tokens');
  writeFileSync(adminTokenFile, `${ADA} Ada Lovelace\n`);
  const database = await cloneDatabase();
  const clock = await controlClock(database);
  const server = await startTestServer({ database, config: { mode: 'api', adminTokenFile } });
  const { a, b, admin, worker } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
    rmSync(folder, { recursive: true });
  });
  const as = (tenant: string, client = admin) => ({
    send: (method: string, path: string, body?: unknown) =>
      client.send(method, `/api/v1${path}`, {
        ...(body !== undefined && { body }),
        headers: { 'millrace-tenant': tenant },
      }),
    get: (path: string) => client.send('GET', `/api/v1${path}`, { headers: { 'millrace-tenant': tenant } }),
  });
  const reads = async (): Promise<AuditEntry[]> =>
    ((await admin.get('/api/v1/admin/audit?limit=100')).body.entries as AuditEntry[]).filter(
      ({ action }) => action === 'read_tenant',
    );
  const operations = async (scheme: string): Promise<Operation[]> => {
    const { paths } = (await admin.get('/openapi.json')).body as {
      paths: Record<string, Record<string, { security?: Record<string, unknown>[] }>>;
    };
    return Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { security = [] }]) => security.some((each) => scheme in each))
        .map(([method]) => ({ method: method.toUpperCase(), path: path.replace('/api/v1', '') })),
    );
  };
  const filled = (path: string): string =>
    path.replace('{id}', '019bd0e5-7c58-7a5f-8000-2f9f6a0f8f10').replace(/\{\w+\}/g, 'some');

  it('sees what the tenant sees, and nothing of others', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const foreign = await createJob(b, queue);
    expect((await as(TENANT_A).get(`/jobs/${id}`)).body).toEqual((await a.get(`/api/v1/jobs/${id}`)).body);
    expect((await as(TENANT_A).get(`/jobs/${foreign}`)).status).toBe(403);
    const listed = (await as(TENANT_A).get(`/jobs?queue=${queue}`)).body.jobs as { id: string }[];
    expect(listed.map((job) => job.id)).toEqual([id]);
    expect((await as(TENANT_B).get(`/jobs?queue=${queue}`)).body.jobs).toMatchObject([{ id: foreign }]);
    expect((await as('nobody-yet').get('/jobs')).body.jobs).toEqual([]);
    const waited = await as(TENANT_A).send('POST', '/jobs/wait', { job_ids: [id], wait_secs: 0 });
    expect(waited.body).toMatchObject({ pending: [id] });
    const events = await admin.open('GET', `/api/v1/jobs/${id}/events`, { headers: { 'millrace-tenant': TENANT_A } });
    expect(events.status).toBe(200);
    await a.post(`/api/v1/jobs/${id}/cancel`);
    expect(await events.text()).toContain('"status":"cancelled"');
  });

  it('is told as whom, that reading is all there is, and who reads', async () => {
    const asTenant = { kind: 'tenant', tenant_id: TENANT_A, read_only: true };
    expect((await as(TENANT_A).get('/whoami')).body).toMatchObject({ ...asTenant, read_by: 'admin' });
    expect((await as(TENANT_A, server.as(ADA)).get('/whoami')).body).toMatchObject({
      ...asTenant,
      read_by: 'Ada Lovelace',
    });
    expect((await a.get('/api/v1/whoami')).body).not.toHaveProperty('read_by');
    expect((await admin.get('/api/v1/whoami')).body).toMatchObject({ kind: 'admin', tenant_id: null });
  });

  it('may call every route that only reads', async () => {
    const routes = (await operations('tenantToken')).filter(({ method }) => method === 'GET');
    expect(routes.length).toBeGreaterThan(25);
    for (const { path } of routes) {
      const query = path === '/cron/preview' ? '?expr=*%20*%20*%20*%20*' : '';
      const { status, text } = await as(TENANT_A).get(filled(path) + query);
      expect([200, 404], `${path}: ${text}`).toContain(status);
      if (path !== '/whoami') expect((await admin.get(`/api/v1${filled(path)}${query}`)).status, path).toBe(401);
    }
  });

  it('may call none that writes', async () => {
    const tenants = (await operations('tenantToken')).filter(({ method }) => method !== 'GET');
    const workers = (await operations('workerToken')).filter(({ method }) => method !== 'GET');
    expect(tenants.length).toBeGreaterThan(20);
    expect(workers.length).toBeGreaterThan(8);
    for (const { method, path } of [...tenants, ...workers]) {
      if (path === '/jobs/wait') continue;
      const reply = await as(TENANT_A).send(method, filled(path), {});
      expect([reply.status, reply.body.code], `${method} ${path}`).toEqual([403, 'forbidden']);
      expect((await admin.send(method, `/api/v1${filled(path)}`, { body: {} })).status, path).toBe(401);
    }
  });

  it('is in the log with the path and the id of the request, and without the query', async () => {
    const reply = await as(TENANT_A, server.as(ADA)).get('/jobs?queue=a-secret-of-the-query&limit=1');
    const id = reply.headers.get('x-request-id');
    const lines = server.log().filter((line) => line.reqId === id && line.msg === 'an operator reads as a tenant');
    expect(lines).toEqual([
      expect.objectContaining({
        ...{ level: 'info', method: 'GET', path: '/api/v1/jobs', tenant: TENANT_A, operator: 'Ada Lovelace' },
      }),
    ]);
    expect(JSON.stringify(lines)).not.toContain('a-secret-of-the-query');
  });

  it('is recorded once per tenant and hour', async () => {
    await clock.freeze();
    await clock.advance(3_600);
    const before = (await reads()).length;
    const first = await as('acme').get('/jobs');
    for (const path of ['/queues', '/jobs', '/whoami']) await as('acme').get(path);
    await as('acme', server.as(ADA)).get('/jobs');
    // A header has bytes: those of UTF-8.
    await as(Buffer.from('other / ü').toString('latin1')).get('/jobs');
    const all = await reads();
    const found = all.slice(0, all.length - before);
    expect(new Set(found.map(({ target, by }) => `${target} by ${by}`))).toEqual(
      new Set(['acme by admin', 'acme by Ada Lovelace', 'other / ü by admin']),
    );
    expect(found).toHaveLength(3);
    expect(found.find(({ target, by }) => target === 'acme' && by === 'admin')).toEqual({
      ...{ at: expect.any(String), action: 'read_tenant', target: 'acme', by: 'admin', before: null, after: null },
      request_id: first.headers.get('x-request-id'),
    });
    await clock.advance(3_600);
    await as('acme').get('/jobs');
    expect((await reads()).filter(({ target, by }) => target === 'acme' && by === 'admin')).toHaveLength(2);
    // What is refused reads nothing.
    const after = (await reads()).length;
    await as('refused').send('POST', '/jobs', {});
    await as('refused').get('/no/such/path');
    expect(await reads()).toHaveLength(after);
  });

  it('names the tenant properly', async () => {
    for (const name of ['', 'x'.repeat(256), '\xff']) {
      const reply = await as(name).get('/jobs');
      expect([reply.status, reply.body.details?.[0].path], name).toEqual([400, 'Millrace-Tenant']);
    }
  });

  it('needs the admin token', async () => {
    expect((await as(TENANT_B, a).get('/jobs')).status).toBe(403);
    expect((await as(TENANT_B, a).get('/whoami')).status).toBe(403);
    expect((await as(TENANT_A, a).get('/jobs')).status).toBe(200);
    expect((await as(TENANT_A, worker).get('/jobs')).status).toBe(401);
    expect((await as(TENANT_A, server.as('wrong')).get('/jobs')).status).toBe(401);
    const dev = await startAnotherServer(database, { mode: 'api', adminToken: null, dev: true });
    const developer = createClient(dev.apiUrl!, 'anything');
    expect((await as(TENANT_A, developer).get('/whoami')).body).toMatchObject({
      tenant_id: TENANT_A,
      read_by: 'admin',
    });
    expect((await as(TENANT_A, developer).send('POST', '/jobs', { task_name: 't' })).status).toBe(403);
    await dev.stop();
  });
});
