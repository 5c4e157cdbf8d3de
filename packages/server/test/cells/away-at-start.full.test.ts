import { afterAll, expect, it } from 'vitest';
import { EVERY_BUCKET } from '../../src/domain/cells.js';
import { bucketOf } from '../../src/domain/ids.js';
import { createJob, newQueue } from '../engine/kit.js';
import { asCells } from '../support/cells.js';
import { cloneDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { readyBody, startTestServer, TENANT_A, TENANT_B, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';

const [low, high] = [await cloneDatabase(), await cloneDatabase()];
const proxy = await startProxy(high.url);
afterAll(async () => {
  await proxy.close();
  await low.drop();
  await high.drop();
});

const up = async (server: TestServer): Promise<boolean[]> =>
  ((await readyBody(server)).cells as { up: boolean }[]).map((cell) => cell.up);

it('a process starts without a database that is away, and serves its tenants once it answers', async () => {
  const at = Math.max(bucketOf(TENANT_A), bucketOf(TENANT_B));
  const ranges = [
    { first: 0, last: at - 1 },
    { first: at, last: EVERY_BUCKET.last },
  ];
  const cells = asCells([low, { ...high, url: proxy.url }], ranges);
  await proxy.cut();
  const server = await startTestServer({ config: { mode: 'api' }, database: cells });
  const [here, away] = bucketOf(TENANT_A) < at ? [server.a, server.b] : [server.b, server.a];
  await createJob(here, newQueue());
  expect((await away.get('/api/v1/jobs')).status).toBe(503);
  expect(await up(server)).toEqual([true, false]);
  expect(await high.query('SELECT last_bucket - first_bucket AS more FROM millrace.cell')).toEqual([{ more: 65_535 }]);
  await proxy.restore();
  await until(async () => (await up(server))[1]);
  await createJob(away, newQueue());
  // Its range was stored before anything was served from it.
  expect(await high.query('SELECT first_bucket FROM millrace.cell')).toEqual([{ first_bucket: at }]);
  await server.stop();
});

it('one of several database URLs that is away holds what the others leave', async () => {
  const urls = [proxy.url, low.url];
  const database = { kind: 'urls', urls } as const;
  await proxy.cut();
  const server = await startTestServer({ config: { mode: 'api', database }, database: low });
  expect(await up(server)).toEqual([false, true]);
  await proxy.restore();
  await until(async () => (await up(server))[0]);
  for (const client of [server.a, server.b]) await createJob(client, newQueue());
  await server.stop();
});
