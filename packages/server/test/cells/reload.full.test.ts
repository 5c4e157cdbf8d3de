import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { EVERY_BUCKET, type BucketRange } from '../../src/domain/cells.js';
import { bucketOf } from '../../src/domain/ids.js';
import type { Handlers } from '../../src/index.js';
import { startServer, type RunningServer } from '../../src/server.js';
import { handOver } from '../../src/store/handover/handover.js';
import { createLogger } from '../../src/telemetry/logger.js';
import { createJob, idsOf, lease, newQueue, complete } from '../engine/kit.js';
import { LONGEST_WAIT_SECS, inTime } from '../engine/waiting.js';
import { asCells, writeList, type TestCells } from '../support/cells.js';
import { createClient, type Client } from '../support/client.js';
import { oneDatabase, copyDatabase, type TestDatabase } from '../support/database.js';
import { ADMIN_TOKEN, KEY_A, KEY_B, TENANT_A, TENANT_B, testConfig, WORKER_TOKEN } from '../support/server.js';
import { until } from '../support/until.js';

/** A process that is given another list while it serves. */
const at = Math.max(bucketOf(TENANT_A), bucketOf(TENANT_B));
const keeps: BucketRange = { first: 0, last: at - 1 };
const gives: BucketRange = { first: at, last: EVERY_BUCKET.last };

interface Service {
  readonly server: RunningServer;
  readonly a: Client;
  readonly b: Client;
  readonly worker: Client;
  readonly admin: Client;
  readonly log: () => string;
}

const [stops, drops]: (() => Promise<unknown>)[][] = [[], []];
afterAll(async () => {
  for (const stop of stops!) await stop();
  for (const drop of drops!) await drop();
});

async function serve(cells: TestCells, mode: 'api' | 'all' = 'api', handlers: Handlers = {}): Promise<Service> {
  const lines: string[] = [];
  const logger = createLogger({
    level: 'debug',
    format: 'json',
    destination: { write: (line) => void lines.push(line) },
  });
  const server = await startServer(testConfig(cells.url, { mode }), { logger, handlers });
  stops!.push(() => server.stop());
  const client = (token: string): Client => createClient(server.apiUrl!, token);
  return {
    server,
    a: client(KEY_A),
    b: client(KEY_B),
    worker: client(WORKER_TOKEN),
    admin: client(ADMIN_TOKEN),
    log: () => lines.join(''),
  };
}

async function single(): Promise<{ readonly source: TestDatabase; readonly cells: TestCells }> {
  const source = await oneDatabase();
  drops!.push(() => source.drop());
  const cells = asCells([source], [EVERY_BUCKET]);
  drops!.push(async () => rmSync(cells.file, { force: true }));
  return { source, cells };
}

async function split(source: TestDatabase): Promise<TestDatabase> {
  await source.query(`SELECT millrace.close_cell(gen_random_uuid(), int4range(0, $1), int4range($1, 65536))`, [at]);
  const target = await copyDatabase(source);
  drops!.push(() => target.drop());
  const both = { sourceUrl: source.url, targetUrl: target.url, keeps, gives };
  await handOver({ ...both, promotes: false, tell: () => undefined });
  return target;
}

describe('a list that is read again', () => {
  it('leads to the other half after a split, with the leases that were held', async () => {
    const { source, cells } = await single();
    const { server, a, b, worker, admin, log } = await serve(cells);
    const queue = newQueue();
    const ids = [await createJob(a, queue), await createJob(b, queue)];
    const held = await lease(worker, queue, { max_jobs: 2 });
    const target = await split(source);

    // The old list is no good any more, for either of them.
    for (const client of [a, b]) expect((await client.get('/api/v1/jobs')).status).toBe(503);
    await until(() => log().includes('is taken for 0-65535') || 'nothing is said of it');

    writeList(cells.file, [source, target], [keeps, gives]);
    await server.reloadCells();
    await until(async () =>
      (await Promise.all([a, b].map((c) => c.get('/api/v1/jobs')))).every((r) => r.status === 200),
    );
    for (const leased of held) expect((await complete(worker, leased)).status).toBe(204);
    for (const [n, client] of [a, b].entries())
      expect((await client.get(`/api/v1/jobs/${ids[n]}`)).body.status).toBe('completed');
    // A long poll hears of the new half.
    const tenant = bucketOf(TENANT_A) >= at ? a : b;
    await inTime(LONGEST_WAIT_SECS, async () => {
      const later = newQueue();
      const poll = lease(worker, later, { wait_secs: LONGEST_WAIT_SECS });
      const id = await createJob(tenant, later);
      expect(idsOf(await poll)).toEqual([id]);
    });
    expect((await admin.get('/api/v1/admin/overview')).body.tenants).toBe(2);
  });

  it('is refused if it is wrong, and the old one stays', async () => {
    const { source, cells } = await single();
    const other = await oneDatabase();
    drops!.push(() => other.drop());
    const { server, a } = await serve(cells);
    await createJob(a, newQueue());
    writeList(cells.file, [source, other], [keeps, gives]);
    await expect(server.reloadCells()).rejects.toThrow(
      `cell c1: the database holds the buckets 0-65535, and is listed with 0-${at - 1}`,
    );
    writeList(cells.file, [source, other], [keeps, { first: at + 1, last: 65_535 }]);
    await expect(server.reloadCells()).rejects.toThrow(`no cell holds the buckets ${at}-${at}`);
    const nowhere = { ...other, url: 'postgres://nobody@127.0.0.1:9/nothing' };
    writeList(cells.file, [nowhere], [EVERY_BUCKET]);
    await expect(server.reloadCells()).rejects.toThrow();
    expect((await a.get('/api/v1/jobs')).status).toBe(200);
    await createJob(a, newQueue());
  });

  it('is checked in full before anything is done with any database of it', async () => {
    const { source, cells } = await single();
    const { server, a, b, admin } = await serve(cells);
    await Promise.all([a, b].map((client) => createJob(client, newQueue())));
    const empty = await oneDatabase();
    const target = await split(source);
    const cut = { first: 60_000, last: EVERY_BUCKET.last };
    const middle = { first: at, last: cut.first - 1 };
    const refused = async (
      list: readonly TestDatabase[],
      ranges: readonly BucketRange[],
      why: string,
    ): Promise<void> => {
      writeList(cells.file, list, ranges);
      await expect(server.reloadCells()).rejects.toThrow(why);
      expect((await admin.get('/ready')).body.cells).toBeUndefined();
    };
    // The right ones come first each time.
    await refused([source, target, empty], [keeps, gives, cut], 'c2');
    await refused([source, empty], [keeps, gives], 'cell c2: the database is empty, while others are in use');
    const held = `the database holds the buckets ${at}-65535, and is listed with ${at}-59999`;
    await refused([source, target, empty], [keeps, middle, cut], `cell c2: ${held}`);
    const nowhere = { ...empty, url: 'postgres://nobody@127.0.0.1:9/nothing' };
    await refused([source, nowhere], [keeps, gives], 'cell c2');
    const low = { first: 0, last: cut.first - 1 };
    await refused([source, target], [low, cut], `cell c1: the database holds the buckets 0-${at - 1}`);
    await refused([target, source], [keeps, gives], `cell c1: the database holds the buckets ${at}-65535`);
    expect(await empty.query('SELECT first_bucket, last_bucket FROM millrace.cell')).toEqual([
      { first_bucket: 0, last_bucket: EVERY_BUCKET.last },
    ]);
    // Fails if a connection is left.
    await empty.drop();

    writeList(cells.file, [source, target], [keeps, gives]);
    await server.reloadCells();
    await until(async () =>
      (await Promise.all([a, b].map((c) => c.get('/api/v1/jobs')))).every((r) => r.status === 200),
    );
    for (const client of [a, b]) await createJob(client, newQueue());
  });

  it('takes the jobs in hand of the pool along', async () => {
    const { source, cells } = await single();
    const ends: (() => void)[] = [];
    const hold: Handlers[string] = () => new Promise((resolve) => void ends.push(() => resolve({})));
    const { server, a, b } = await serve(cells, 'all', { hold });
    const started = await Promise.all([a, b].map((client) => createJob(client, 'default', { task_name: 'hold' })));
    // A claim whose answer is cut off with its connection has brought nothing into hand.
    await until(() => ends.length === 2, { what: 'both handlers to run' });
    const target = await split(source);
    writeList(cells.file, [source, target], [keeps, gives]);
    await server.reloadCells();
    for (const end of ends) end();
    for (const [n, client] of [a, b].entries()) {
      const job = await until(async () => {
        const { body } = await client.get(`/api/v1/jobs/${started[n]}`);
        return body.status === 'completed' ? body : `it is ${body.status}`;
      });
      expect(job.delivery_count).toBe(1);
    }
    expect(await runningIn(source, target)).toEqual([]);
  });
});

const runningIn = async (...databases: TestDatabase[]): Promise<unknown[]> =>
  (await Promise.all(databases.map((database) => database.query('SELECT FROM millrace.running')))).flat();
