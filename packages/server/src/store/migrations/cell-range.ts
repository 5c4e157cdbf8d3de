import { EVERY_BUCKET, isSameRange, rangeText, type BucketRange } from '../../domain/cells.js';
import { otherRange } from '../../domain/held-ranges.js';
import { wrongCell, type RangeRow } from '../connection/cell-check.js';
import type { Database } from '../connection/database.js';
import { loadStatements } from '../sql.js';
import { SchemaError } from './migrate.js';

/**
 * A database knows which tenants belong to it. One that nobody has used may become any part of a service; after that,
 * a list that takes it for something else is refused, before a tenant is looked for in the wrong place.
 */
const sql = loadStatements('store/cells.sql');

export async function storedRange(db: Pick<Database, 'runPlanned'>): Promise<BucketRange> {
  const row = await rangeRow(db);
  return row === undefined ? EVERY_BUCKET : { first: row.first_bucket, last: row.last_bucket };
}

const rangeRow = async (db: Pick<Database, 'runPlanned'>): Promise<RangeRow | undefined> =>
  (await db.runPlanned<RangeRow>(sql.cell_range()))[0];

/** @throws WrongCell unless the database serves these tenants, and no others, at this moment */
export async function checkRange(db: Pick<Database, 'runPlanned'>, expected: BucketRange): Promise<void> {
  const wrong = wrongCell(await rangeRow(db), expected);
  if (wrong !== null) throw wrong;
}

/**
 * Makes sure that the database holds these buckets and no others. It takes on a narrower range by itself if none of its
 * tenants is outside of it.
 *
 * @throws SchemaError if it holds others
 */
export async function holdRange(db: Pick<Database, 'runPlanned'>, wanted: BucketRange): Promise<void> {
  const row = await rangeRow(db);
  if (row?.state === 'gone') throw new SchemaError('the database has handed its tenants over to another one');
  const found = await storedRange(db);
  if (isSameRange(found, wanted)) return;
  const { first, last } = wanted;
  await db.runPlanned(sql.narrow_range({ first_bucket: first, last_bucket: last }));
  if (!isSameRange(await storedRange(db), wanted)) throw new SchemaError(refusalOf(found, wanted));
}

function refusalOf(found: BucketRange, wanted: BucketRange): string {
  const holds = `the database holds the buckets ${rangeText(found)}`;
  if (isSameRange(wanted, EVERY_BUCKET)) return `${holds} only: it is one cell of several`;
  const isPart = found.first <= wanted.first && wanted.last <= found.last;
  return isPart
    ? `${holds}, and has tenants outside of ${rangeText(wanted)}, which it is listed with`
    : otherRange(found, wanted);
}
