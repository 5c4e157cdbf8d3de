import { FEATURES } from '@millrace/contract';
import { SignJWT } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { VERSION } from '../../src/version.js';
import { cloneDatabase } from '../support/database.js';
import { JWT_SECRET, startTestServer, TENANT_A, TENANT_B } from '../support/server.js';
import { until } from '../support/until.js';
import { startAnotherServer } from './another-server.js';

describe('GET /whoami', async () => {
  const database = await cloneDatabase();
  const readKeys = new Map([['a-key-that-may-only-read', TENANT_B]]);
  const traceUrl = 'https://traces.example.com/{trace_id}';
  const config = { mode: 'api', readKeys, retentionHours: 48, defaultQueue: 'work', traceUrl } as const;
  const server = await startTestServer({ database, config });
  const { a, worker, nobody } = server;
  afterAll(async () => {
    await server.stop();
    await database.drop();
  });
  const SERVER = {
    dev: false,
    version: VERSION,
    default_queue: 'work',
    retention_hours: 48,
    now: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    trace_url: 'https://traces.example.com/{trace_id}',
    features: [...FEATURES],
  };
  const tokenOf = (claims: Record<string, unknown>, exp: number): Promise<string> =>
    new SignJWT({ ...claims, exp }).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(JWT_SECRET));

  it('takes every credential, and says what it is', async () => {
    const tenant = { kind: 'tenant', tenant_id: TENANT_A, read_only: false };
    expect((await a.get('/api/v1/whoami')).body).toEqual({ ...tenant, ...SERVER });
    expect((await worker.get('/api/v1/whoami')).body).toEqual({
      kind: 'worker',
      tenant_id: null,
      read_only: false,
      ...SERVER,
    });
    expect((await server.as('a-key-that-may-only-read').get('/api/v1/whoami')).body).toEqual({
      kind: 'tenant',
      tenant_id: TENANT_B,
      read_only: true,
      ...SERVER,
    });
  });

  it('says when a token expires', async () => {
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const { body } = await server
      .as(await tokenOf({ sub: 'jwt-tenant', millrace_scope: 'read' }, exp))
      .get('/api/v1/whoami');
    expect(body).toEqual({
      kind: 'tenant',
      tenant_id: 'jwt-tenant',
      read_only: true,
      expires_at: new Date(exp * 1000).toISOString(),
      ...SERVER,
    });
    const distant = await server.as(await tokenOf({ sub: 'jwt-tenant' }, 1e15)).get('/api/v1/whoami');
    expect([distant.status, distant.body.expires_at]).toEqual([200, '9999-12-31T23:59:59.999Z']);
  });

  it("gives the database's clock", async () => {
    const clock = async (): Promise<number> => (await database.query<{ now: Date }>('SELECT now()'))[0]!.now.getTime();
    const before = await clock();
    const now = Date.parse((await a.get('/api/v1/whoami')).body.now as string);
    // The driver gives whole milliseconds.
    expect(now).toBeGreaterThanOrEqual(before - 1);
    expect(now).toBeLessThanOrEqual((await clock()) + 1);
  });

  it('refuses what is no credential', async () => {
    for (const reply of [await nobody.get('/api/v1/whoami'), await server.as('wrong').get('/api/v1/whoami')]) {
      expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
    }
  });

  it('knows developers, whatever their token, and that jobs are kept for ever', async () => {
    const dev = await startTestServer({ database, config: { mode: 'api', dev: true } });
    const { body } = await dev.as('anything').get('/api/v1/whoami');
    expect(body).toEqual({
      kind: 'developer',
      tenant_id: 'tenant1',
      read_only: false,
      ...SERVER,
      dev: true,
      default_queue: 'default',
      retention_hours: null,
      trace_url: null,
    });
    await dev.stop();
  });

  it('GET /tasks of a process that runs none also lists those of the others', async () => {
    const tasks = async (): Promise<string[]> => (await a.get('/api/v1/tasks')).body.tasks as string[];
    expect(await tasks()).toEqual(['echo', 'fail', 'log', 'sleep']);
    const other = await startAnotherServer(
      database,
      { mode: 'worker' },
      { mine: () => ({}), 'a task of mine': () => ({}) },
    );
    const isKnown = async (): Promise<unknown> => (await tasks()).includes('mine');
    await until(isKnown, { what: 'the tasks of the other process' });
    expect(await tasks()).toEqual(['a task of mine', 'echo', 'fail', 'log', 'mine', 'sleep']);
    await other.stop();
    await database.query(`UPDATE millrace.processes SET seen_at = seen_at - interval '6 minutes'`);
    expect(await tasks()).toEqual(['echo', 'fail', 'log', 'sleep']);
  });
});
