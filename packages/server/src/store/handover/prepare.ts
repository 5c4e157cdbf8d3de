import { isSameRange, type BucketRange } from '../../domain/cells.js';
import { otherRange } from '../../domain/held-ranges.js';
import { migrate, SchemaError } from '../migrations/migrate.js';
import { loadStatements } from '../sql.js';
import { rowsOf } from '../connection/one-connection.js';
import { onDatabase, readCell } from './cell-row.js';
import { heldBy } from './held.js';

const sql = loadStatements('store/cells.sql');

/**
 * Makes an empty database a cell with these tenants, of whom nothing is known there. A start does so by itself only
 * while the whole service is new: later on an empty database is more likely the wrong one.
 *
 * @throws SchemaError if it holds something
 */
export async function prepareCell(url: string, range: BucketRange): Promise<void> {
  const { range: holds } = await heldBy(url);
  if (holds !== null)
    throw new SchemaError(isSameRange(holds, range) ? 'the database holds these buckets' : otherRange(holds, range));
  await migrate(url);
  const { first, last } = range;
  const found = await onDatabase(url, async (client) => {
    await rowsOf(client, sql.narrow_range({ first_bucket: first, last_bucket: last }));
    return readCell(client);
  });
  if (found === null || !isSameRange(found.range, range)) throw new SchemaError('somebody else uses the database');
}
