import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import pg from 'pg';
import { pino } from 'pino';
import type { Config } from '../../../src/config/config.js';
import { startServer } from '../../../src/server.js';
import { Database } from '../../../src/store/connection/database.js';
import { inspect } from '../../../src/store/migrations/inspect.js';
import { migrate } from '../../../src/store/migrations/migrate.js';
import { pooledRun } from '../../../src/store/connection/pooled-query.js';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer, testConfig } from '../../support/server.js';
import { startTransactionPooler, type StartupOptions } from '../../support/transaction-pooler.js';
import { until } from '../../support/until.js';

const silent = pino({ enabled: false });

async function pooled(database: TestDatabase, startup?: StartupOptions, size?: number): Promise<string> {
  const pooler = await startTransactionPooler(database.url, startup, size);
  onTestFinished(() => pooler.close());
  return pooler.url;
}

const behind = (url: string, directDatabaseUrl: string | null): Partial<Config> => ({
  database: { kind: 'url', url },
  pooler: 'transaction',
  directDatabaseUrl,
});

/** The one line that a refused start ends with. */
async function refusalOf(overrides: Partial<Config>): Promise<string> {
  const started = startServer(testConfig('postgres://localhost/replaced-below', overrides), { logger: silent });
  return started.then(
    async (server) => {
      await server.stop();
      return 'it started';
    },
    (error: Error) => error.message,
  );
}

describe('behind a pooler in transaction mode', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());

  it('a statement has its settings, and leaves none behind', async () => {
    const url = await pooled(database);
    const db = new Database({ url, maxConnections: 4, logger: silent, pooler: 'transaction' });
    const text = `SELECT current_setting('enable_seqscan') AS scan, current_setting('statement_timeout') AS deadline,
      current_setting('plan_cache_mode') AS plans, current_setting('TimeZone') AS zone, $1::int AS given`;
    const hot = { scan: 'off', deadline: '8s', plans: 'force_generic_plan', zone: 'UTC', given: 1 };
    for (let n = 0; n < 5; n++) expect(await db.run({ name: 'settings', text, values: ['1'] })).toEqual([hot]);
    expect(await db.read({ tenant: 't', statement: { name: 'settings', text, values: ['1'] } })).toEqual([
      { ...hot, scan: 'on', deadline: '18s', plans: 'auto' },
    ]);
    expect(await db.transaction((run) => run({ name: 'settings', text, values: ['1'] }))).toEqual([hot]);
    await db.close();

    const others = new pg.Client({ connectionString: url });
    await others.connect();
    for (let n = 0; n < 3; n++) {
      const { rows } = await others.query(`SELECT current_setting('enable_seqscan') AS scan`);
      expect(rows).toEqual([{ scan: 'on' }]);
    }
    await others.end();
  });

  it('a statement is planned under its settings', async () => {
    const url = await pooled(database);
    const db = new Database({ url, maxConnections: 4, logger: silent, pooler: 'transaction' });
    await database.query('ANALYZE millrace.migrations');
    const text = 'EXPLAIN SELECT name FROM millrace.migrations WHERE version > $1';
    const plan = JSON.stringify(await db.run({ name: 'plan', text, values: ['0'] }));
    const usual = JSON.stringify(await database.query(text, [0]));
    await db.close();
    expect(plan).toContain('Index Scan using');
    expect(usual).not.toContain('Index Scan using');
  });

  it('a statement ends at its deadline', async () => {
    const client = new pg.Client({ connectionString: await pooled(database) });
    await client.connect();
    const run = pooledRun([['statement_timeout', '50']]);
    await expect(run(client, { text: 'SELECT pg_sleep(20)' })).rejects.toMatchObject({ code: '57014' });
    const unhurried = pooledRun([['statement_timeout', '60000']]);
    expect((await unhurried(client, { text: 'SELECT 7 AS n' })).rows).toEqual([{ n: 7 }]);
    await client.end();
  });

  it('what fails inside a transaction leaves the connection clean', async () => {
    const url = await pooled(database, 'refuse', 1);
    const db = new Database({ url, maxConnections: 3, logger: silent, pooler: 'transaction' });
    const broken = { name: 'broken', text: 'SELECT 1 / 0', values: [] };
    await expect(db.transaction((run) => run(broken))).rejects.toThrow('division by zero');
    await expect(db.run(broken)).rejects.toThrow('division by zero');
    expect(await db.run({ name: 'fine', text: 'SELECT 1 AS n', values: [] })).toEqual([{ n: 1 }]);
    await db.close();
  });

  it('jobs, workflows, lists and events work, and other processes are woken', async () => {
    const own = await cloneDatabase();
    onTestFinished(() => own.drop());
    const url = await pooled(own);
    const api = await startTestServer({ database: own, config: { mode: 'api', ...behind(url, own.url) } });
    const workers = await startTestServer({ database: own, config: { mode: 'worker', ...behind(url, own.url) } });
    onTestFinished(() => Promise.all([api.stop(), workers.stop()]).then(() => undefined));
    const created = await api.a.post('/api/v1/jobs', { task_name: 'echo', payload: { n: 1 } });
    const events = await api.a.open('GET', `/api/v1/jobs/${created.body.job_id}/events`);
    expect(await events.text()).toContain('"status":"completed"');
    const steps = [
      { name: 'one', task_name: 'echo' },
      { name: 'two', task_name: 'echo', depends_on: ['one'] },
    ];
    const workflow = await api.a.post('/api/v1/workflows', { name: 'w', steps });
    await until(
      async () => {
        const { body } = await api.a.get(`/api/v1/workflows/${workflow.body.workflow_id}`);
        return body.status === 'completed' || `it is ${body.status}`;
      },
      { what: 'the workflow to end' },
    );
    const { body } = await api.a.get('/api/v1/jobs?status=completed&include_total=true');
    expect(body.jobs).toHaveLength(3);
  });

  it('without a direct address other processes look for themselves', async () => {
    const own = await cloneDatabase();
    onTestFinished(() => own.drop());
    const url = await pooled(own);
    const config = behind(url, null);
    const workers = await startTestServer({ database: own, config: { mode: 'worker', ...config } });
    const api = await startTestServer({ database: own, config: { mode: 'api', ...config } });
    onTestFinished(() => Promise.all([api.stop(), workers.stop()]).then(() => undefined));
    expect(workers.log().map(({ msg }) => msg)).toContainEqual(expect.stringContaining('found by polling, within 5 s'));
    const { body } = await api.a.post('/api/v1/jobs', { task_name: 'echo' });
    await until(async () => (await api.a.get(`/api/v1/jobs/${body.job_id}`)).body.status === 'completed', {
      what: 'the job to be found',
    });
  });

  it('the schema is migrated and examined', async () => {
    const own = await emptyDatabase();
    onTestFinished(() => own.drop());
    const pooler = await startTransactionPooler(own.url);
    const { current, applied } = await migrate(pooler.url);
    const inspection = await inspect(pooler.url);
    await pooler.close();
    expect(applied).not.toEqual([]);
    expect(inspection.schema).toEqual({ kind: 'current', found: current, expected: current });
    expect(inspection.checks.filter(({ violations }) => violations > 0)).toEqual([]);
  });
});

describe('a start is refused', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());
  const unannounced = (url: string): Partial<Config> => ({ database: { kind: 'url', url } });
  const advice = '--pooler transaction (docs/operations.md, "Poolers")';

  it('where an unannounced pooler refuses session settings', async () => {
    const url = await pooled(database, 'refuse');
    expect(await refusalOf(unannounced(url))).toBe(
      `a pooler or proxy refuses session settings (unsupported startup parameter: options): set ${advice}, or connect directly`,
    );
  });

  it('where it drops them', async () => {
    const url = await pooled(database, 'ignore');
    expect(await refusalOf(unannounced(url))).toBe(
      `a pooler or proxy in front of PostgreSQL drops session settings: set ${advice}`,
    );
  });

  it('where it keeps them and lends one connection to two', async () => {
    const url = await pooled(database, 'replay', 1);
    expect(await refusalOf(unannounced(url))).toBe(
      `the database URL leads to a pooler in transaction mode: set ${advice}`,
    );
  });

  it('where the direct address leads to a pooler, too', async () => {
    const url = await pooled(database);
    expect(await refusalOf(behind(url, url))).toBe(
      '--direct-database-url leads to a pooler as well (unsupported startup parameter: options)',
    );
  });

  it('where the direct address leads to another database', async () => {
    const other = await cloneDatabase();
    onTestFinished(() => other.drop());
    const url = await pooled(database);
    expect(await refusalOf(behind(url, other.url))).toBe(
      'a notification sent through the database URL is not heard on --direct-database-url: ' +
        'both must lead to the same database, the second one around the pooler',
    );
  });

  it('where transactions would be isolated otherwise than the statements expect', async () => {
    const own = await cloneDatabase();
    onTestFinished(() => own.drop());
    await own.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable', current_database()); END $$`,
    );
    const pooler = await startTransactionPooler(own.url);
    const line = await refusalOf(behind(pooler.url, null));
    await pooler.close();
    expect(line).toBe(
      "behind a pooler the default isolation must be read committed: ALTER ROLE ... SET default_transaction_isolation = 'read committed'",
    );
  });
});
