import { afterAll, describe, expect, it } from 'vitest';
import { bucketOf } from '../../src/domain/ids.js';
import { createJob, newQueue } from '../engine/kit.js';
import { oneDatabase, emptyDatabase } from '../support/database.js';
import { KEY_A, readyBody, startTestServer, TENANT_A, type TestServer } from '../support/server.js';

/** Several --database-url, and no list. */
const [low, high, other] = await Promise.all([oneDatabase(), oneDatabase(), oneDatabase()]);
const empty = await emptyDatabase();
afterAll(() => Promise.all([low, high, other, empty].map((database) => database.drop())));

const start = (...urls: readonly string[]): Promise<TestServer> =>
  startTestServer({ config: { mode: 'api', database: { kind: 'urls', urls } }, database: low });
const ranges = (): Promise<unknown[]> =>
  Promise.all([low, high].map(async (each) => (await each.query('SELECT last_bucket FROM millrace.cell'))[0]));
const refusal = (...urls: readonly string[]): Promise<string> =>
  start(...urls).then(
    () => 'it started',
    (error: Error) => error.message,
  );

describe('several database URLs', () => {
  it('divide the tenants equally at first, and find them again in any order', async () => {
    const first = await start(low.url, high.url);
    expect(await ranges()).toEqual([{ last_bucket: 32_767 }, { last_bucket: 65_535 }]);
    const id = await createJob(first.a, newQueue());
    await first.stop();
    const second = await start(high.url, low.url);
    expect((await second.as(KEY_A).get(`/api/v1/jobs/${id}`)).body.id).toBe(id);
    const cells = ['cell1', 'cell2'].map((name) => ({ name, up: true }));
    expect(await readyBody(second)).toEqual({ status: 'ready', cells });
    await second.stop();
  });

  it('are refused if they are not one service, and nothing is written', async () => {
    const not = '--database-url names no whole service: ';
    const inUse = bucketOf(TENANT_A) < 32_768 ? low : high;
    for (const { url } of [other, empty])
      expect(await refusal(inUse.url, url)).toBe(
        `${not}cell2: it is empty, while others are in use; is it the right database?`,
      );
    await other.query(`UPDATE millrace.cell SET first_bucket = 40000`);
    expect(await refusal(low.url, other.url)).toBe(`${not}no cell holds the buckets 32768-39999`);
    expect(await refusal(low.url, high.url, other.url)).toMatch(/cell2 .* and cell3 \(40000-65535\) overlap$/);
    expect(await other.query('SELECT first_bucket FROM millrace.cell')).toEqual([{ first_bucket: 40_000 }]);
  });
});
