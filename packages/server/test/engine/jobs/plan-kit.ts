import pg from 'pg';
import { pino } from 'pino';
import { Database } from '../../../src/store/connection/database.js';
import type { StatementText } from '../../../src/store/sql-text.js';
import { statementFiles } from '../../store/statements.js';
import type { TestDatabase } from '../../support/database.js';

/** The plans of the product's statements, under the settings they run with. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  readonly 'Plan Rows': number;
  readonly Plans?: readonly PlanNode[];
}

/** Every statement of sql/queries, by file. */
export const allStatements = (): { readonly file: string; readonly statement: StatementText }[] =>
  statementFiles().flatMap(({ file, statements }) => statements.map((statement) => ({ file, statement })));

/** A connection with exactly the settings of one of the product's pools. */
export async function connectLike(database: TestDatabase, pool: 'run' | 'read'): Promise<pg.Client> {
  const db = new Database({ url: database.url, maxConnections: 3, logger: pino({ level: 'silent' }) });
  const statement = {
    name: 'settings_of_this_pool',
    text: `SELECT name, setting FROM pg_settings WHERE source = 'client' AND name <> 'application_name'`,
    values: [],
  };
  interface Setting {
    readonly name: string;
    readonly setting: string;
  }
  const settings = await (pool === 'run' ? db.run<Setting>(statement) : db.read<Setting>({ tenant: 't', statement }));
  await db.close();
  const options = settings.map(({ name, setting }) => `-c ${name}=${setting.replaceAll(' ', '\\ ')}`).join(' ');
  const client = new pg.Client({ connectionString: database.url, options });
  await client.connect();
  return client;
}

/** The generic plan of a prepared statement: the one that all its executions share. */
export async function genericPlan(client: pg.Client, { name, text, parameters }: StatementText): Promise<PlanNode> {
  await client.query(`PREPARE ${name} AS ${text}`);
  const values = parameters.length === 0 ? '' : `(${parameters.map(() => 'NULL').join(', ')})`;
  try {
    return await explain(client, `EXECUTE ${name}${values}`);
  } finally {
    await client.query(`DEALLOCATE ${name}`);
  }
}

export async function explain(client: pg.Client, text: string, values?: readonly unknown[]): Promise<PlanNode> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (FORMAT JSON) ${text}`,
    values && [...values],
  );
  return rows[0]!['QUERY PLAN'][0].Plan;
}

/** A node with its ancestors, from the root. */
export function* walk(
  node: PlanNode,
  above: readonly PlanNode[] = [],
): Generator<{ node: PlanNode; above: readonly PlanNode[] }> {
  yield { node, above };
  for (const child of node.Plans ?? []) yield* walk(child, [...above, node]);
}

export const describePlan = (plan: PlanNode): string =>
  [...walk(plan)]
    .map(({ node, above }) => {
      const {
        'Node Type': type,
        'Relation Name': relation,
        'Index Name': index,
        'Index Cond': condition,
        Filter,
      } = node;
      const parts = [type, relation, index, condition, Filter && `filter ${Filter}`].filter(Boolean);
      return `${'  '.repeat(above.length)}${parts.join(' · ')}`;
    })
    .join('\n');

/** Jobs in every state, of many tenants and one large one, as after a day of work, and what belongs to them. */
export async function fill(database: TestDatabase, jobs: number): Promise<void> {
  await database.query(`
    INSERT INTO millrace.tenants (tenant, bucket) SELECT 'tenant-' || n, n FROM generate_series(1, 50) AS n;
    INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, idempotency_key)
    SELECT at, n % 3, (millrace.id_prefix(at) || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
           'tenant-' || (CASE WHEN n % 2 = 0 THEN 1 ELSE 1 + n % 50 END), 'queue-' || (n % 97) % 20, 'task', '{}',
           CASE WHEN n % 5 = 0 THEN 'key-' || n END
    FROM (
      SELECT now() - (${jobs} - n) * interval '100 milliseconds' AS at, n FROM generate_series(1, ${jobs}) AS n
    ) AS made;
    CREATE TEMPORARY TABLE numbered AS SELECT *, row_number() OVER (ORDER BY id) AS n FROM millrace.jobs;
    INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
    SELECT created_at, priority, (n % 7 = 0)::int, (n % 7 = 0)::int, id, tenant, queue FROM numbered WHERE n % 3 = 0;
    INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant)
    SELECT now() + interval '1 minute', now(), 0, 1, id, gen_random_uuid(), tenant FROM numbered WHERE n % 300 = 1;
    INSERT INTO millrace.done (completed_at, retry_count, delivery_count, status, id, tenant, result)
    SELECT created_at, 0, 1,
           CASE n % 20 WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled' ELSE 'completed' END::millrace.job_status,
           id, tenant, CASE WHEN n % 20 NOT IN (2, 3) THEN '{}'::json END
    FROM numbered WHERE n % 3 <> 0 AND n % 300 <> 1;
    INSERT INTO millrace.idempotency_keys (tenant, key, job_id)
    SELECT tenant, idempotency_key, id FROM millrace.jobs WHERE idempotency_key IS NOT NULL;
    INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task)
    SELECT d.completed_at, d.id, 'non_retryable', d.tenant, 'queue', 'task'
    FROM millrace.done d WHERE d.status = 'failed';
    DROP TABLE numbered;
    ANALYZE`);
}
