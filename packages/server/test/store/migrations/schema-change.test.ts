import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Database } from '../../../src/store/connection/database.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { complete, createJob, createJobs, fail, lease, leaseOne, newQueue, waitFor } from '../../engine/kit.js';
import { cloneDatabase, type TestDatabase } from '../../support/database.js';
import { startTestServer } from '../../support/server.js';
import { startTransactionPooler } from '../../support/transaction-pooler.js';
import { hotConnection, statements } from '../statements.js';

/**
 * A newer process migrates the schema while this one serves: tables and views gain columns under prepared statements.
 */
const TABLES = `SELECT relname AS name FROM pg_class WHERE relnamespace = 'millrace'::regnamespace AND relkind = 'r'`;
const VIEWS = `SELECT relname AS name, rtrim(pg_get_viewdef(oid), ';') AS body FROM pg_class
  WHERE relnamespace = 'millrace'::regnamespace AND relkind = 'v'`;

async function addColumnsEverywhere(database: TestDatabase): Promise<void> {
  for (const { name } of await database.query<{ name: string }>(TABLES))
    await database.query(`ALTER TABLE millrace.${name} ADD COLUMN of_next_version integer`);
  for (const { name, body } of await database.query<{ name: string; body: string }>(VIEWS))
    await database.query(
      `CREATE OR REPLACE VIEW millrace.${name} AS SELECT whole.*, 1 AS of_next_version FROM (${body}) AS whole`,
    );
}

describe.each(['directly', 'through a pooler'] as const)('a statement whose columns have changed, %s', async (way) => {
  const database = await cloneDatabase();
  await database.query('CREATE TABLE growing (a integer); INSERT INTO growing VALUES (1)');
  const pooler = way === 'directly' ? null : await startTransactionPooler(database.url);
  const db = new Database({
    url: pooler?.url ?? database.url,
    maxConnections: 5,
    logger: createLogger({ level: 'silent', format: 'json' }),
    pooler: pooler ? 'transaction' : 'none',
  });
  afterAll(async () => {
    await db.close();
    await pooler?.close();
    await database.drop();
  });

  const all = { name: 'all_of_it', text: 'SELECT * FROM growing', values: [] };
  const first = { name: 'first_of_it', text: 'SELECT * FROM growing LIMIT $1' };
  const grow = async (column: string): Promise<void> => {
    await database.query(`ALTER TABLE growing ADD COLUMN ${column} integer DEFAULT 7`);
  };

  it('is prepared again on every connection, and brings the new ones', async () => {
    // As many at once as there are connections, so that each of them has prepared it.
    const together = () => Promise.all(Array.from({ length: 12 }, () => db.run(all)));
    for (const rows of await together()) expect(rows).toEqual([{ a: 1 }]);
    await grow('b');
    for (const rows of await together()) expect(rows).toEqual([{ a: 1, b: 7 }]);
    await grow('c');
    expect(await db.read({ tenant: 't', statement: all })).toEqual([{ a: 1, b: 7, c: 7 }]);
  });

  it('is prepared again if its connection has lost it', async () => {
    const lose = { name: 'lose_it', text: 'DEALLOCATE ALL', values: [] };
    const [before] = await db.run(all);
    await db.run(lose);
    expect(await db.run(all)).toEqual([before]);
    const read = () => db.read({ tenant: 't', statement: all });
    await read();
    await db.read({ tenant: 't', statement: lose });
    expect(await read()).toEqual([before]);
  });

  it('takes the transaction that it is part of along', async () => {
    const add = { name: 'add_loop', text: `INSERT INTO millrace.loops VALUES ($1, now())`, values: [] };
    const begun: string[] = [];
    const both = (name: string) =>
      db.transaction(async (run) => {
        begun.push(name);
        await run({ ...add, values: [name] });
        const rows = await run(all);
        return [...rows, ...(await run({ ...first, values: ['1'] }))];
      });
    await both('before');
    await grow('d');
    const [one, two] = await both('after');
    expect(one).toMatchObject({ a: 1, d: 7 });
    expect(two).toEqual(one);
    // One repetition, for both statements; and what was done before it was undone, or the name would be taken.
    expect(begun.filter((name) => name === 'after')).toHaveLength(way === 'directly' ? 2 : 1);
    expect(await database.query(`SELECT FROM millrace.loops WHERE name IN ('before', 'after')`)).toHaveLength(2);
  });
});

describe('the statements of the service', async () => {
  const database = await cloneDatabase();
  const client = await hotConnection(database);
  const prepared = statements();
  for (const { name, text } of prepared) await client.query(`PREPARE ${name} AS ${text}`);
  await addColumnsEverywhere(database);
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it.each(prepared)('$name names the columns that it returns', async ({ name }) => {
    const { rows } = await client.query<{ n: number }>(
      'SELECT cardinality(parameter_types) AS n FROM pg_prepared_statements WHERE name = $1',
      [name],
    );
    const values = Array.from({ length: rows[0]!.n }, () => 'NULL').join(', ');
    const plan = await client.query(`EXPLAIN EXECUTE ${name}${values && `(${values})`}`);
    expect(plan.rows).not.toEqual([]);
  });
});

it('a server goes on while every table and view gains a column', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.stop());
  const { a, worker, database } = server;

  /** One of each, so that every kind of statement is prepared on some connection. */
  const everything = async (): Promise<number[]> => {
    const [queue, echoed] = [newQueue(), await a.post('/api/v1/jobs', { task_name: 'echo' })];
    const [waiting] = await createJobs(a, queue, 3);
    await complete(worker, await leaseOne(worker, queue));
    await fail(worker, await leaseOne(worker, queue), { retryable: false });
    await lease(worker, queue);
    await a.post(`/api/v1/jobs/${waiting}/cancel`);
    await waitFor(a, echoed.body.job_id as string, 'completed');
    const steps = [{ name: 'one', task_name: 'echo' }];
    const workflow = await a.post('/api/v1/workflows', { name: 'w', steps });
    const cron = await a.post('/api/v1/cron', { name: queue, cron_expr: '0 0 1 1 *', task_name: 'echo' });
    const scheduled = await createJob(a, queue, { run_at: '2999-01-01T00:00:00Z' });
    const paths = [
      ...['jobs?include_total=true', 'jobs?status=completed', 'workflows', 'cron', 'dlq', 'queues', 'stats'],
      `jobs/${scheduled}`,
      `workflows/${workflow.body.workflow_id}`,
      `workflows/${workflow.body.workflow_id}/steps`,
      `cron/${cron.body.cron_id}`,
    ];
    const replies = await Promise.all(paths.map((path) => a.get(`/api/v1/${path}`)));
    return [echoed, workflow, cron, ...replies].map(({ status }) => status);
  };

  const before = await everything();
  expect(before.filter((status) => status >= 300)).toEqual([]);
  await addColumnsEverywhere(database);
  expect(await everything()).toEqual(before);
  expect(server.log().filter(({ level }) => Number(level) >= 50)).toEqual([]);
});
