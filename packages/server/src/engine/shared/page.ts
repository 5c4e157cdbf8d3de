import type { Database } from '../../store/database.js';
import type { Budget, ListWindow, Query, Sized } from '../../store/list-statements.js';
import { MAX_PAGE_BYTES, type ListQuery, type Page, type PagePart } from '../api.js';

/** A list that can be read page by page. `At` is the position where a page ended. */
export interface Listing<Row, At, Item> {
  list(window: ListWindow<At>): Query;
  count(): Query;
  /** For rows that may be large: reads as many of these as fit the budget. */
  rowsOf?(rows: readonly Row[], budget: Budget): Query;
  toItems(rows: readonly Row[]): readonly Item[] | Promise<readonly Item[]>;
  decodeCursor(cursor: string): At;
  encodeCursor(last: Row): string;
}

/**
 * Reading one row more than asked for shows whether there is another page. Rows that are too large to be read with the
 * others are left for the caller to read, part by part. A page by cursor ends when it grows too large, since its caller
 * follows the cursor from wherever it ended; a page by offset is complete, since its caller relies on the limit it
 * asked for.
 */
export async function readPage<Row extends object, At, Item>(
  db: Database,
  query: ListQuery,
  listing: Listing<Row, At, Item>,
): Promise<Page<Item>> {
  const { ascending, limit } = query;
  const after = query.cursor === null ? null : listing.decodeCursor(query.cursor);
  const page = listing.list({ ascending, after, limit: limit + 1, offset: after === null ? query.offset : 0 });
  const [rows, total] = await Promise.all([
    db.read<Row & Partial<Sized>>(page),
    query.includeTotal ? readCount(db, listing.count()) : null,
  ]);
  const ofPage = rows.slice(0, limit);
  const last = ofPage.at(-1);
  const nextCursor = rows.length > limit && last ? listing.encodeCursor(last) : null;
  const whole = ofPage.filter((row) => row.whole !== false);
  const large = ofPage.slice(whole.length);
  const rest = query.cursor === null ? readParts : readOnePart;
  return {
    items: await listing.toItems(whole),
    total,
    nextCursor,
    rest: large.length === 0 ? null : rest(db, listing, { whole, large, nextCursor }),
  };
}

interface Begun<Row> {
  readonly whole: readonly Row[];
  readonly large: readonly Row[];
  readonly nextCursor: string | null;
}

/** Reads all large rows, some megabytes at a time. */
async function* readParts<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  { large, nextCursor }: Begun<Row>,
): AsyncGenerator<PagePart<Item>> {
  let left = large;
  while (left.length > 0) {
    const found = await readLarge(db, listing, left, { maxBytes: MAX_PAGE_BYTES, atLeastOne: true });
    yield { items: await listing.toItems(found), nextCursor };
    left = left.slice(countUpTo(listing, left, found.at(-1)));
  }
}

/** Reads the large rows that still fit on the page with those already read. */
async function* readOnePart<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  { whole, large, nextCursor }: Begun<Row>,
): AsyncGenerator<PagePart<Item>> {
  const maxBytes = Math.max(0, MAX_PAGE_BYTES - textLength(whole));
  const found = await readLarge(db, listing, large, { maxBytes, atLeastOne: whole.length === 0 });
  const isCut = found.length === 0 ? whole.length > 0 : countUpTo(listing, large, found.at(-1)) < large.length;
  const end = found.at(-1) ?? whole.at(-1);
  yield { items: await listing.toItems(found), nextCursor: isCut && end ? listing.encodeCursor(end) : nextCursor };
}

function readLarge<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  rows: readonly Row[],
  budget: Budget,
): Promise<Row[]> {
  return db.read<Row>(listing.rowsOf!(rows, budget));
}

/**
 * How many rows there are up to and including the last one read. Undefined: all of them have been removed meanwhile.
 */
function countUpTo<Row extends object, At, Item>(
  listing: Listing<Row, At, Item>,
  rows: readonly Row[],
  last: Row | undefined,
): number {
  if (last === undefined) return rows.length;
  const place = listing.encodeCursor(last);
  return rows.findIndex((row) => listing.encodeCursor(row) === place) + 1;
}

const textLength = (rows: readonly object[]): number =>
  rows.flatMap((row): unknown[] => Object.values(row)).reduce<number>((sum, value) => sum + lengthOf(value), 0);

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

async function readCount(db: Database, query: Query): Promise<number> {
  const [row] = await db.count<{ total: number }>(query);
  return row?.total ?? 0;
}
