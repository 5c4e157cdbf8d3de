import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import type { Database } from '../stage/database.js';
import { startLoad } from '../support/load.js';

const READS = [
  '/api/v1/jobs?limit=5',
  '/api/v1/jobs?limit=5&include_total=true&status=completed',
  '/api/v1/workflows?limit=5',
  '/api/v1/cron?limit=5',
  '/api/v1/dlq?limit=5',
  '/api/v1/queues',
];

interface Relation {
  readonly name: string;
  readonly kind: 'table' | 'view';
}

/**
 * Tables and views gain columns while servers hold plans that were made before, as when a newer version migrates the
 * schema of a fleet that still runs an older one.
 */
export const changedSchema: Fault = {
  row: 32,
  name: 'tables and views gain a column under load',
  check: 'no 5xx, nothing lost',
  unit: 'changes',
  full: 200,
  everyday: 20,
  rare: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database });
    const load = startLoad(stage, [server.url], { failRate: 0.05 });
    const client = stage.client(server);
    const relations = await relationsOf(database);
    for (let change = 1; change <= count; change++) {
      await readAll(client);
      await addColumn(database, stage.random.pick(relations), change);
    }
    await readAll(client);
    await load.stopProducing();
    await stage.drained(database);
    await load.stopWorking();
  },
};

async function readAll(client: ChaosClient): Promise<void> {
  const replies = await Promise.all(READS.map((path) => client.send('other', 'GET', path)));
  const [page] = replies;
  const [newest] = (page?.body.jobs ?? []) as readonly { readonly id: string }[];
  if (newest) await client.get(newest.id);
}

const relationsOf = (database: Database): Promise<readonly Relation[]> =>
  database.query<Relation>(`
    SELECT relname::text AS name, CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END AS kind
    FROM pg_class WHERE relnamespace = 'millrace'::regnamespace AND relkind IN ('r', 'p', 'v')
      AND NOT relispartition ORDER BY relname`);

/** A view keeps the columns it has, in their order, and gains one at its end: nothing else can be replaced in place. */
async function addColumn(database: Database, { name, kind }: Relation, number: number): Promise<void> {
  const column = `added_${number}`;
  if (kind === 'table') {
    await database.query(`ALTER TABLE millrace.${name} ADD COLUMN ${column} integer`);
    return;
  }
  const [row] = await database.query<{ text: string }>(`SELECT pg_get_viewdef('millrace.${name}'::regclass) AS text`);
  const definition = (row?.text ?? '').trim().replace(/;$/, '');
  await database.query(
    `CREATE OR REPLACE VIEW millrace.${name} AS SELECT it.*, ${number} AS ${column} FROM (${definition}) AS it`,
  );
}
