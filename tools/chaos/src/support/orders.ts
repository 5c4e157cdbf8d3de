import type { Random } from '@millrace/tools-shared';
import type pg from 'pg';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';

/**
 * What an application puts into its outbox with an order, and what must come of it:
 *
 * plain     one job, under the key that the entry makes for itself
 * keyed     two entries under one key of the application's own: one job
 * workflow  one workflow; with every other, two entries under one key
 * refused   a job that the service refuses: none, and an entry that is set aside
 */
export const KINDS = ['plain', 'keyed', 'workflow', 'refused'] as const;
export type OrderKind = (typeof KINDS)[number];

const QUEUE = 'outbox';

/** They come in turns, so that claims hold jobs alone, or workflows or refused entries among them. */
const TURNS: readonly (readonly OrderKind[])[] = [
  ['plain'],
  ['plain', 'keyed'],
  ['plain', 'keyed', 'workflow'],
  ['plain', 'plain', 'keyed', 'refused'],
];
const ORDERS_PER_TURN = 40;

export const kindOf = (n: number, random: Random): OrderKind =>
  random.pick(TURNS[Math.floor(n / ORDERS_PER_TURN) % TURNS.length]!);

/** In one transaction, which commits or not. */
export async function placeOrder(client: pg.Client, n: number, kind: OrderKind, commits: boolean): Promise<void> {
  await client.query('BEGIN');
  await client.query('INSERT INTO orders (n, kind) VALUES ($1, $2)', [n, kind]);
  for (const [call, values] of entriesOf(n, kind)) await client.query(`SELECT millrace_outbox.${call}`, values);
  await client.query(commits ? 'COMMIT' : 'ROLLBACK');
}

type Entry = readonly [call: string, values: unknown[]];

function entriesOf(n: number, kind: OrderKind): Entry[] {
  const job = `enqueue('receipt', json_build_object('n', $1::int), queue => $2`;
  const key = `order-${n}`;
  switch (kind) {
    case 'plain':
      return [[`${job})`, [n, QUEUE]]];
    case 'keyed':
      return twice([`${job}, key => $3)`, [n, QUEUE, key]]);
    case 'workflow': {
      const request = JSON.stringify({ name: key, steps: [{ name: 'pack', task_name: 'pack', queue: 'steps' }] });
      return n % 2 === 0 ? [['enqueue_workflow($1)', [request]]] : twice(['enqueue_workflow($1, $2)', [request, key]]);
    }
    case 'refused':
      return [[`${job}, config => '{"max_retries": 1001}')`, [n, QUEUE]]];
  }
}

const twice = (entry: Entry): Entry[] => [entry, entry];

/** What became of the orders, as counts by number. */
interface Outcome {
  readonly job: ReadonlyMap<number, number>;
  readonly workflow: ReadonlyMap<number, number>;
  readonly 'refused entry': ReadonlyMap<number, number>;
}
const RESULTS = ['job', 'workflow', 'refused entry'] as const;
const EXPECTED: Record<OrderKind, (typeof RESULTS)[number]> = {
  plain: 'job',
  keyed: 'job',
  workflow: 'workflow',
  refused: 'refused entry',
};

/** Compares what was committed with what the service has. */
export async function compareOrders(stage: Stage, application: Database, service: Database): Promise<void> {
  const rows = await application.query<{ n: number; kind: OrderKind }>('SELECT n, kind FROM orders');
  const committed = new Map(rows.map(({ n, kind }) => [n, kind]));
  const outcome = await outcomeOf(application, service);
  for (const result of RESULTS) {
    for (const [n, kind] of committed)
      if (EXPECTED[kind] === result && !outcome[result].has(n))
        stage.violation(`order ${n} (${kind}) was committed and has no ${result}`);
    for (const [n, count] of outcome[result]) {
      const kind = committed.get(n);
      if (kind === undefined) stage.violation(`order ${n} was rolled back and has a ${result}`);
      else if (EXPECTED[kind] !== result) stage.violation(`order ${n} (${kind}) has a ${result}`);
      if (count > 1) stage.violation(`order ${n} has ${count} ${result}s`);
    }
  }
  const counts = KINDS.map((kind) => `${rows.filter((row) => row.kind === kind).length} ${kind}`);
  stage.note(`orders that were committed: ${counts.join(', ')}`);
}

async function outcomeOf(application: Database, service: Database): Promise<Outcome> {
  const counted = async (database: Database, text: string, values: unknown[] = []): Promise<Map<number, number>> => {
    const rows = await database.query<{ n: number; count: number }>(
      `SELECT n::int AS n, count(*)::int AS count FROM (${text}) AS found (n) GROUP BY 1`,
      values,
    );
    return new Map(rows.map(({ n, count }) => [n, count]));
  };
  return {
    job: await counted(service, `SELECT payload ->> 'n' FROM millrace.jobs WHERE queue = $1`, [QUEUE]),
    workflow: await counted(service, `SELECT substr(name, length('order-') + 1) FROM millrace.workflows`),
    'refused entry': await counted(application, `SELECT payload ->> 'n' FROM millrace_outbox.refused`),
  };
}
