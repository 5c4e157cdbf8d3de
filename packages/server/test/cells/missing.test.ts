import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVERY_BUCKET } from '../../src/domain/cells.js';
import { bucketOf } from '../../src/domain/ids.js';
import { createJob, newQueue } from '../engine/kit.js';
import { asCells } from '../support/cells.js';
import type { Client } from '../support/client.js';
import { oneDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { readyBody, startTestServer, TENANT_A, TENANT_B, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** Two databases with a tenant each, of which one goes away. */
const [low, high] = await Promise.all([oneDatabase(), oneDatabase()]);
const proxy = await startProxy(high.url);
const at = Math.max(bucketOf(TENANT_A), bucketOf(TENANT_B));
const cells = asCells(
  [low, { ...high, url: proxy.url }],
  [
    { first: 0, last: at - 1 },
    { first: at, last: EVERY_BUCKET.last },
  ],
);
const [hereName, awayName] = bucketOf(TENANT_A) < at ? [TENANT_A, TENANT_B] : [TENANT_B, TENANT_A];
const WARNINGS = ['the cell c2 did not answer: its tenants are left out'];
const queue = newQueue();
let server: TestServer;
let here: Client;
let away: Client;
let tag: string | null;

beforeAll(async () => {
  server = await startTestServer({ config: { mode: 'api' }, database: cells });
  [here, away] = bucketOf(TENANT_A) < at ? [server.a, server.b] : [server.b, server.a];
  // A start goes on without a database that takes its time.
  await until(async () => (await readyBody(server)).cells.every((cell: any) => cell.up));
  await createJob(here, queue);
  await createJob(away, queue);
  const whole = await server.admin.get('/api/v1/admin/tenants');
  expect(whole.body.tenants.map((each: any) => each.tenant_id)).toEqual([TENANT_A, TENANT_B].sort());
  expect(whole.body.warnings).toBeUndefined();
  await proxy.cut();
  await until(async () => (await away.get('/api/v1/jobs')).status === 503);
  // Nothing is recorded of either: the same text, and yet another answer.
  tag = (await server.admin.get('/api/v1/admin/audit')).headers.get('etag');
});

afterAll(async () => {
  await server.stop();
  await proxy.close();
  await cells.drop();
});

const upInMetrics = async (): Promise<string[]> => {
  const page = await (await fetch(`${server.metricsUrl}/metrics`)).text();
  return page.split('\n').filter((line) => line.startsWith('millrace_cell_up{'));
};

describe('while one of two databases is away, operators', () => {
  it('see in the metrics which', async () => {
    expect(await upInMetrics()).toEqual(['millrace_cell_up{cell="c1"} 1', 'millrace_cell_up{cell="c2"} 0']);
  });

  it.each(['overview', 'queues', 'tenants', 'workers', 'series', 'limits', 'audit'])(
    'read %s of the other, and are told which is missing',
    async (what) => {
      const { status, body } = await server.admin.get(`/api/v1/admin/${what}`);
      expect([status, body.warnings]).toEqual([200, WARNINGS]);
    },
  );

  it('see what the other holds, and nothing else', async () => {
    const read = async (what: string): Promise<any> => (await server.admin.get(`/api/v1/admin/${what}`)).body;
    expect((await read('tenants')).tenants.map((each: any) => each.tenant_id)).toEqual([hereName]);
    expect((await read('overview')).jobs.pending.n).toBe(1);
    const [held] = (await read('queues')).queues;
    expect(held).toMatchObject({ queue, pending: 1, tenants: [{ tenant_id: hereName }] });
    expect(JSON.stringify(held)).not.toContain(awayName);
    expect((await server.admin.get(`/api/v1/admin/queues/${queue}`)).status).toBe(200);
  });

  it('change nothing in one alone: that fails and names the other', async () => {
    const { status, body } = await server.admin.post(`/api/v1/admin/queues/${queue}/pause`, {});
    expect([status, body.error]).toEqual([503, expect.stringContaining('the cell c2')]);
  });

  it('are refused a tenant of it, as the tenant is', async () => {
    expect((await away.get('/api/v1/jobs')).status).toBe(503);
    expect((await server.admin.get('/api/v1/jobs', { 'millrace-tenant': awayName })).status).toBe(503);
    expect((await here.get('/api/v1/jobs')).status).toBe(200);
  });

  it('get another answer than before once it is back, and no warning', async () => {
    await proxy.restore();
    const again = await until(async () => {
      const reply = await server.admin.get('/api/v1/admin/audit', { 'if-none-match': tag! });
      return reply.status === 200 && reply.body.warnings === undefined ? reply : 'it is still away';
    });
    expect(again.headers.get('etag')).not.toBe(tag);
    expect((await server.admin.get('/api/v1/admin/tenants')).body.tenants).toHaveLength(2);
    expect(await upInMetrics()).toEqual(['millrace_cell_up{cell="c1"} 1', 'millrace_cell_up{cell="c2"} 1']);
  });
});
