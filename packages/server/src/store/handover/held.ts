import { EVERY_BUCKET, isSameRange, type BucketRange } from '../../domain/cells.js';
import { EMPTY_BESIDE_OTHERS, otherRange, type Held } from '../../domain/held-ranges.js';
import { SchemaError } from '../migrations/migrate.js';
import { rowsOf } from '../connection/one-connection.js';
import { onDatabase, readCell, sql } from './cell-row.js';

/** What a database holds by its own account. */
export async function heldBy(url: string): Promise<Held> {
  return onDatabase(url, async (client) => {
    const found = await client.query<{ known: boolean }>(`SELECT to_regclass('millrace.tenants') IS NOT NULL AS known`);
    if (!found.rows[0]?.known) return { range: null, isUsed: false };
    const cell = await readCell(client);
    if (cell?.state === 'gone') throw new SchemaError('the database has handed its tenants over to another one');
    const [tenants] = await rowsOf<{ used: boolean }>(client, sql.has_tenants());
    const isUsed = tenants?.used === true;
    // One that nobody has narrowed, and that took no part in a handover, is as good as new while it has no tenants.
    const range = cell?.range ?? EVERY_BUCKET;
    const isNew = isSameRange(range, EVERY_BUCKET) && !isUsed && (cell?.handover ?? null) === null;
    return { range: isNew ? null : range, isUsed };
  });
}

/** Of a database that takes the place of another, or comes later than the others. Nothing is written. */
export async function expectHeld(url: string, listed: BucketRange): Promise<void> {
  const { range } = await heldBy(url);
  if (range === null) throw new SchemaError(EMPTY_BESIDE_OTHERS);
  if (!isSameRange(range, listed)) throw new SchemaError(otherRange(range, listed));
}
