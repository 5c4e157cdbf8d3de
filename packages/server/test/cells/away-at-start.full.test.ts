import { afterAll, beforeAll, expect, it } from 'vitest';
import { EVERY_BUCKET } from '../../src/domain/cells.js';
import { bucketOf } from '../../src/domain/ids.js';
import { createJob, newQueue } from '../engine/kit.js';
import { asCells } from '../support/cells.js';
import type { Client } from '../support/client.js';
import { oneDatabase, type TestDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { readyBody, startTestServer, TENANT_A, TENANT_B, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';

const [low, high, unused] = await Promise.all([oneDatabase(), oneDatabase(), oneDatabase()]);
const [proxy, wrong] = await Promise.all([startProxy(high.url), startProxy(unused.url)]);
afterAll(async () => {
  await Promise.all([proxy, wrong].map((each) => each.close()));
  await Promise.all([low, high, unused].map((each) => each.drop()));
});

const up = async (server: TestServer): Promise<boolean[]> =>
  ((await readyBody(server)).cells as { up: boolean }[]).map((cell) => cell.up);

/** A start goes on without a database that takes its time: wherever this machine is held up. */
const untilUp = (server: TestServer, cell: number): Promise<boolean> =>
  until(async () => (await up(server))[cell], { what: `database ${cell} to be up` });

const at = Math.max(bucketOf(TENANT_A), bucketOf(TENANT_B));
const ranges = [
  { first: 0, last: at - 1 },
  { first: at, last: EVERY_BUCKET.last },
];
const startOn = (other: TestDatabase): Promise<TestServer> =>
  startTestServer({ config: { mode: 'api' }, database: asCells([low, other], ranges) });
/** The tenant of the first database, and that of the other. */
const tenantsOf = ({ a, b }: TestServer): readonly Client[] => (bucketOf(TENANT_A) < at ? [a, b] : [b, a]);

beforeAll(async () => {
  const first = await startOn(high);
  for (const cell of [0, 1]) await untilUp(first, cell);
  for (const client of tenantsOf(first)) await createJob(client, newQueue());
  await first.stop();
});

it('a process starts without a database that is away, and serves its tenants once it answers', async () => {
  await proxy.cut();
  const server = await startOn({ ...high, url: proxy.url });
  const [here, away] = tenantsOf(server);
  await untilUp(server, 0);
  await createJob(here!, newQueue());
  expect((await away!.get('/api/v1/jobs')).status).toBe(503);
  expect(await up(server)).toEqual([true, false]);
  await proxy.restore();
  await untilUp(server, 1);
  await createJob(away!, newQueue());
  await server.stop();
});

it('a database that was away at the start is not served if it turns out to be empty', async () => {
  await wrong.cut();
  const server = await startOn({ ...unused, url: wrong.url });
  const [here, away] = tenantsOf(server);
  await wrong.restore();
  await until(() => server.log().some(({ reason }) => String(reason).includes('the database is empty')));
  expect((await away!.get('/api/v1/jobs')).status).toBe(503);
  await untilUp(server, 0);
  await createJob(here!, newQueue());
  const held = await unused.query('SELECT first_bucket, last_bucket FROM millrace.cell');
  expect(held).toEqual([{ first_bucket: 0, last_bucket: 65_535 }]);
  await server.stop();
});

it('one of several database URLs that is away holds what the others leave', async () => {
  const urls = [proxy.url, low.url];
  const database = { kind: 'urls', urls } as const;
  await proxy.cut();
  const server = await startTestServer({ config: { mode: 'api', database }, database: low });
  await untilUp(server, 1);
  expect(await up(server)).toEqual([false, true]);
  await proxy.restore();
  await untilUp(server, 0);
  for (const client of [server.a, server.b]) await createJob(client, newQueue());
  await server.stop();
});
