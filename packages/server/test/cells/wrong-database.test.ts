import { afterAll, describe, expect, it } from 'vitest';
import { EVERY_BUCKET, type BucketRange } from '../../src/domain/cells.js';
import { bucketOf } from '../../src/domain/ids.js';
import { startServer, type RunningServer } from '../../src/server.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { createJob, newQueue } from '../engine/kit.js';
import { asCells, writeList } from '../support/cells.js';
import { createClient, type Client } from '../support/client.js';
import { oneDatabase, emptyDatabase, type TestDatabase } from '../support/database.js';
import { KEY_A, KEY_B, TENANT_A, TENANT_B, testConfig } from '../support/server.js';

/** A list that names another database than the one that has the tenants. It is empty, and must stay so. */
const at = Math.max(bucketOf(TENANT_A), bucketOf(TENANT_B));
const [LOW, HIGH]: readonly BucketRange[] = [
  { first: 0, last: at - 1 },
  { first: at, last: EVERY_BUCKET.last },
];
const EMPTY = 'cell c2: the database is empty, while others are in use: is it the right one?';

const [low, high, unused] = await Promise.all([oneDatabase(), oneDatabase(), oneDatabase()]);
const empty = await emptyDatabase();
const cells = asCells([low, high], [LOW!, HIGH!]);
const list = (...databases: readonly TestDatabase[]): void => writeList(cells.file, databases, [LOW!, HIGH!]);

const logger = createLogger({ level: 'silent', format: 'json' });
const start = (): Promise<RunningServer> => startServer(testConfig(cells.url, { mode: 'api' }), { logger });
const clients = ({ apiUrl }: RunningServer): Client[] => [KEY_A, KEY_B].map((key) => createClient(apiUrl!, key));

// A first start, after which both have their range and a tenant.
let server = await start();
for (const client of clients(server)) await createJob(client, newQueue());

afterAll(async () => {
  await server.stop();
  await Promise.all([cells, unused, empty].map((each) => each.drop()));
});

const ranges = (database: TestDatabase): Promise<unknown> =>
  database.query('SELECT first_bucket, last_bucket FROM millrace.cell');
async function expectUntouched(): Promise<void> {
  expect(await ranges(unused)).toEqual([{ first_bucket: 0, last_bucket: 65_535 }]);
  expect(await empty.query(`SELECT FROM pg_namespace WHERE nspname = 'millrace'`)).toEqual([]);
}

describe('an empty database in place of one that has tenants', () => {
  it.each([
    ['with tables', unused],
    ['without', empty],
  ])('is refused when the list is read again (%s)', async (_, wrong) => {
    list(low, wrong);
    await expect(server.reloadCells()).rejects.toThrow(EMPTY);
    await expectUntouched();
    for (const client of clients(server)) await createJob(client, newQueue());
  });

  it.each([
    ['with tables', unused],
    ['without', empty],
  ])('is refused at a start (%s)', async (_, wrong) => {
    list(low, wrong);
    await expect(start()).rejects.toThrow(EMPTY);
    await expectUntouched();
  });
});

describe('a list that is refused', () => {
  it('leaves nothing behind: neither ranges nor connections', async () => {
    const [copy, newer] = await Promise.all([oneDatabase(), oneDatabase()]);
    // Both hold what they are listed with, and one has a schema that this program does not know.
    await copy.query('UPDATE millrace.cell SET last_bucket = $1', [LOW!.last]);
    await newer.query('UPDATE millrace.cell SET first_bucket = $1', [HIGH!.first]);
    await newer.query(`INSERT INTO millrace.migrations (version, name, oldest) VALUES (9000, 'later', 9000)`);
    list(copy, newer);
    await expect(server.reloadCells()).rejects.toThrow(/cell c2: .*9000/);
    for (const client of clients(server)) await createJob(client, newQueue());
    // Fails while somebody holds a connection.
    await Promise.all([copy, newer].map((each) => each.drop()));
  });

  it('is looked at as a whole before anything is begun with a part of it', async () => {
    const copy = await oneDatabase();
    await copy.query('UPDATE millrace.cell SET last_bucket = $1', [LOW!.last]);
    await copy.query(`DELETE FROM millrace.migrations WHERE version = (SELECT max(version) FROM millrace.migrations)`);
    const version = (): Promise<unknown> => copy.query('SELECT max(version) FROM millrace.migrations');
    const before = await version();
    list(copy, unused);
    await expect(server.reloadCells()).rejects.toThrow(EMPTY);
    expect(await version()).toEqual(before);
    await copy.drop();
  });

  it('does not keep the process from using the right one afterwards', async () => {
    list(low, high);
    await server.reloadCells();
    await server.stop();
    server = await start();
    for (const client of clients(server)) await createJob(client, newQueue());
  });
});
