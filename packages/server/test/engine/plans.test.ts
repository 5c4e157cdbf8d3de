import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PLANNED_ANEW } from '../store/statements.js';
import { oneDatabase, type TestDatabase } from '../support/database.js';
import { allStatements, connectLike, describePlan, fill, genericPlan, walk, type PlanNode } from './jobs/plan-kit.js';

/**
 * The statements of the hot pool keep the plan that was made first. Whatever the tables held then, a lookup must go
 * down the index that was made for it: by a condition on its leading columns, down to one row, to the rows of one
 * workflow or job, or no further than a limit.
 */
const LARGE = [
  'jobs',
  'ready',
  'leases',
  'attempts',
  'done',
  'idempotency_keys',
  'dead_letters',
  'workflows',
  'workflow_runs',
  'workflow_ends',
  'crons',
  'operation_jobs',
];

/** Run on the other pool, planned anew each time, or by an operator. */
const ELSEWHERE = new Set([...PLANNED_ANEW.filter((name) => !name.startsWith('forget_')), 'operations']);
const HOT = allStatements()
  .filter(({ file, statement }) => file !== 'store/doctor.sql' && !ELSEWHERE.has(statement.name))
  .map(({ statement }) => statement);

/** All schedules, of which there are thousands at most, held against those that fire. */
const MEANT: Readonly<Record<string, string>> = { fire_crons: 'crons_pkey' };

/**
 * Walked in order from the front of a queue to a limit. All that stands there is due but for odd rows, which a
 * condition leaves out.
 */
const FROM_THE_FRONT: Readonly<Record<string, string>> = {
  claim_for_pool: 'ready_in_claim_order',
  claim_for_workers: 'ready_in_claim_order',
  share_for_pool: 'ready_in_claim_order',
  share_for_workers: 'ready_in_claim_order',
  peek: 'ready_in_claim_order',
  sort_into_lines: 'ready_in_claim_order',
  turns_of_queue: 'ready_in_claim_order',
};

/** Once a minute, in one process: leases are as many as jobs run at this moment. */
const ALL_LEASES = new Set(['forget_claim_marks']);

interface Index {
  readonly columns: readonly string[];
  readonly isUnique: boolean;
}

async function indexesOf(database: TestDatabase): Promise<ReadonlyMap<string, Index>> {
  const rows = await database.query<{ name: string; columns: string[]; is_unique: boolean }>(
    `SELECT c.relname AS name, i.indisunique AS is_unique,
            ARRAY(SELECT pg_get_indexdef(i.indexrelid, n, true) FROM generate_series(1, i.indnkeyatts) AS n ORDER BY n) AS columns
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace s ON s.oid = c.relnamespace
     WHERE s.nspname = 'millrace'`,
  );
  return new Map(rows.map(({ name, columns, is_unique }) => [name, { columns, isUnique: is_unique }]));
}

/** What is wrong with the scans of a plan, in words. */
function faults(name: string, plan: PlanNode, indexes: ReadonlyMap<string, Index>): string[] {
  return [...walk(plan)].flatMap(({ node, above }) => {
    const { 'Node Type': type, 'Relation Name': table = '', 'Index Name': indexName = '' } = node;
    if (!LARGE.includes(table) || !type.endsWith('Scan') || type === 'Tid Scan') return [];
    if (table === 'leases' && ALL_LEASES.has(name)) return [];
    if (!type.startsWith('Index') || !indexes.has(indexName)) return [`${type} of ${table}`];
    if (MEANT[name] === indexName && node['Index Cond'] === undefined) return [];
    const { columns, isUnique } = indexes.get(indexName)!;
    const bound = new Set([...(node['Index Cond'] ?? '').matchAll(/\((\w+) [<>=]+ /g)].map(([, column]) => column!));
    const leading = columns.findIndex((column) => !bound.has(column));
    const depth = leading < 0 ? columns.length : leading;
    const isLimited = above.some((each) => each['Node Type'] === 'Limit');
    const isOneRow = isUnique && depth === columns.length;
    const isOneWorkflow = indexName === 'jobs_of_workflow' && depth > 0;
    // Forty rows at most.
    const isOneJob = indexName === 'attempts_pkey' && depth === 2;
    if (FROM_THE_FRONT[name] === indexName && depth > 0 && isLimited) return [];
    if (bound.size > depth) return [`${indexName} of ${table} by ${[...bound].join(', ')}: not its leading columns`];
    return isOneRow || isOneWorkflow || isOneJob || isLimited ? [] : [`${indexName} of ${table} without an end`];
  });
}

describe('the plans of the hot statements', () => {
  let databases: readonly TestDatabase[];
  let connections: readonly pg.Client[];
  let indexes: ReadonlyMap<string, Index>;

  beforeAll(async () => {
    const [fresh, empty, full] = await Promise.all([oneDatabase(), oneDatabase(), oneDatabase()]);
    await Promise.all([empty.query('ANALYZE'), fill(full, 100_000)]);
    databases = [fresh, empty, full];
    connections = await Promise.all(databases.map((database) => connectLike(database, 'run')));
    indexes = await indexesOf(fresh);
  });
  afterAll(async () => {
    await Promise.all(connections.map((client) => client.end()));
    await Promise.all(databases.map((database) => database.drop()));
  });

  it('are made under settings that leave no choice', async () => {
    const { rows } = await connections[0]!.query<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings WHERE name IN ('plan_cache_mode', 'enable_seqscan', 'enable_nestloop', 'jit') ORDER BY name`,
    );
    expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
      enable_nestloop: 'off',
      enable_seqscan: 'off',
      jit: 'off',
      plan_cache_mode: 'force_generic_plan',
    });
  });

  it.each(HOT)(
    '$name looks up what it needs, planned on new tables, on empty ones and on full ones',
    async (statement) => {
      const indexesUsed = new Set<string>();
      for (const client of connections) {
        const plan = await genericPlan(client, statement);
        expect(faults(statement.name, plan, indexes), describePlan(plan)).toEqual([]);
        const used = [...walk(plan)].map(({ node }) => node['Index Name']).filter((name) => name !== undefined);
        indexesUsed.add([...new Set(used)].sort().join());
      }
      expect([...indexesUsed], 'the same indexes, whatever the tables hold').toHaveLength(1);
    },
  );
});
