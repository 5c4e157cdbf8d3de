import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { boolArray, int4Array, jsonArray, textArray, uuidArray } from '../../../src/store/arrays.js';
import { loadStatements, type Statement } from '../../../src/store/sql.js';
import { oneDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';

const { settle_bundled } = loadStatements('outcomes/settle.sql');
const { unbundle } = loadStatements('leases/bundles.sql');

const run = (client: pg.Client, { text, values }: Statement): Promise<pg.QueryResult> =>
  client.query(text, [...values]);

/**
 * Two statements that need the same bundles must not wait for each other, so each locks them in the order of their key.
 */
describe('a statement that waits for the first of its bundles', async () => {
  const database = await oneDatabase();
  const clients: pg.Client[] = [];
  afterAll(async () => {
    for (const client of clients) await client.end();
    await database.drop();
  });

  async function session(name: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: database.url, application_name: name });
    await client.connect();
    clients.push(client);
    return client;
  }

  /** Two bundles of two members each; the first by key comes last in what the statements are given. */
  async function twoBundles(): Promise<{ first: string; second: string; members: string[] }> {
    const [first = '', second = ''] = [randomUUID(), randomUUID()].sort();
    const ids = Array.from({ length: 4 }, () => randomUUID()).sort();
    const insert = `
      INSERT INTO millrace.bundles (locked_until, started_at, first_id, last_id, token, tenant, queue, open, taken, ids)
      VALUES (now(), now(), $1, $2, $3, 't', 'q', '11', '', ARRAY[$1, $2]::uuid[])`;
    await database.query(insert, [ids[0], ids[1], first]);
    await database.query(insert, [ids[2], ids[3], second]);
    return { first, second, members: ids };
  }

  const lock = `SELECT FROM millrace.bundles WHERE token = $1 FOR UPDATE NOWAIT`;

  it.each([
    [
      'completes all of one and some of the other',
      (client: pg.Client, { first, second }: { first: string; second: string }) =>
        run(
          client,
          settle_bundled({
            bundle_tokens: uuidArray([second, first]),
            bundle_tenants: textArray(['t', 't']),
            masks: textArray(['10', '11']),
            are_last: boolArray([false, true]),
            member_bundles: int4Array([1, 2, 2]),
            member_positions: int4Array([1, 1, 2]),
            member_results: jsonArray(['{}', '{}', '{}']),
            emptied_tokens: uuidArray([]),
            mark_tokens: uuidArray([]),
            mark_reaches: int4Array([]),
            dropped_marks: uuidArray([]),
          }),
        ),
    ],
    [
      'separates jobs',
      (client: pg.Client, { members }: { members: string[] }) =>
        run(
          client,
          unbundle({
            tenants: textArray(['t', 't']),
            ids: uuidArray([members[2]!, members[0]!]),
            tokens: uuidArray([null, null]),
          }),
        ),
    ],
  ])('holds none of the others: one that %s', async (_what, act) => {
    const bundles = await twoBundles();
    const [holder, waiter] = [await session('holder'), await session('waiter')];
    await holder.query('BEGIN');
    await holder.query(lock, [bundles.first]);
    const acting = act(waiter, bundles);
    await lockWaits(database, { by: 'waiter' });
    expect((await holder.query(lock, [bundles.second])).rowCount).toBe(1);
    await holder.query('COMMIT');
    expect((await acting).rowCount).toBeGreaterThan(0);
  });
});
