import type { Database } from '../../store/connection/database.js';
import { textLength } from '../../store/rows.js';
import type { Budget, ListWindow, TenantRead, Sized } from '../../store/lists/list-statements.js';
import { MAX_PAGE_BYTES, type ListQuery, type Page, type PageEnds, type PagePart } from '../api.js';
import { cursorAfter, cursorBefore, readCursor, START_CURSOR, type CursorCodec, type CursorPlace } from './cursor.js';
import { search, type SearchResult, type Search } from './search.js';

/** A list that can be read page by page. `At` is the place of a row, by what orders the list. */
export interface Listing<Row, At, Item> {
  list(window: ListWindow<At>): TenantRead;
  count(): TenantRead;
  /** For rows that may be large: reads as many of these as fit the budget. */
  rowsOf?(rows: readonly Row[], budget: Budget): TenantRead;
  toItems(rows: readonly Row[]): readonly Item[] | Promise<readonly Item[]>;
  placeOf(row: Row): At;
  readonly cursors: CursorCodec<At>;
  /** Instead of `list`, where a filter is one that no index serves. */
  readonly search?: Search<At, Row> | null;
}

/**
 * Reading one row more than asked for shows whether there is another page. Rows that are too large to be read with the
 * others are left for the caller to read, part by part. A page by cursor ends when it grows too large, since its caller
 * follows the cursor from wherever it ended; a page by offset is complete, since its caller relies on the limit it
 * asked for.
 *
 * A page before a cursor is read in the opposite direction, from the cursor on, and turned round when it is complete:
 * what is said below of first and last rows is said of the order in which they were read.
 */
export async function readPage<Row extends object, At, Item>(
  db: Database,
  query: ListQuery,
  listing: Listing<Row, At, Item>,
): Promise<Page<Item>> {
  const place: CursorPlace<At> =
    query.cursor === null
      ? { at: null, backward: false, skip: query.offset }
      : readCursor(listing.cursors, query.cursor);
  const [begun, total] = await Promise.all([
    beginPage(db, listing, place, query),
    query.includeTotal ? readCount(db, listing.count()) : null,
  ]);
  const { whole, large } = begun;
  const ends = endsOf(listing, begun, begun);
  if (large.length === 0) {
    const items = await listing.toItems(whole);
    return { items: place.backward ? [...items].reverse() : items, total, rest: null, ...ends };
  }
  // Of a page that is turned round the large items come first.
  if (place.backward) return { items: [], total, rest: readTurned(db, listing, begun), ...ends };
  const rest = query.cursor === null ? readParts : readOnePart;
  return { items: await listing.toItems(whole), total, rest: rest(db, listing, begun), ...ends };
}

/** Of a list that can't hold anything. The cursor is checked nevertheless. */
export function emptyPage<At>({ includeTotal, cursor }: ListQuery, cursors: CursorCodec<At>): Page<never> {
  if (cursor !== null) readCursor(cursors, cursor);
  return {
    items: [],
    rest: null,
    total: includeTotal ? 0 : null,
    nextCursor: null,
    prevCursor: null,
    searchedTo: null,
  };
}

/** Where the rows of a page begin and end. */
interface Extent<At> {
  readonly first: At | null;
  readonly last: At | null;
  /** Whether others follow the last one. */
  readonly more: boolean;
}

interface Begun<Row, At> extends Extent<At> {
  readonly whole: readonly Row[];
  readonly large: readonly Row[];
  readonly backward: boolean;
  /** Where the search for further rows reached its bound. */
  readonly stop: SearchResult<At>['stop'];
  /** Whether the page has as many rows as were asked for. */
  readonly full: boolean;
}

async function beginPage<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  { at: after, backward, skip: offset }: CursorPlace<At>,
  { ascending: isAscending, limit }: ListQuery,
): Promise<Begun<Row, At>> {
  const ascending = isAscending !== backward;
  const window = { ascending, after, limit: limit + 1, offset };
  const found = listing.search ? await search(db, listing.search, window) : null;
  const rows = await (found === null
    ? db.read<Row & Partial<Sized>>(listing.list(window))
    : rowsFound(db, listing.search!, found.hits.slice(0, limit), ascending));
  const ofPage = rows.slice(0, limit);
  const places = (found?.hits ?? rows.map((row) => listing.placeOf(row))).slice(0, limit);
  const more = (found?.hits ?? rows).length > limit;
  const whole = ofPage.filter((row) => row.whole !== false);
  return {
    whole,
    large: ofPage.slice(whole.length),
    backward,
    first: places[0] ?? null,
    last: places.at(-1) ?? null,
    more,
    stop: more ? null : (found?.stop ?? null),
    full: places.length === limit,
  };
}

async function rowsFound<Row extends object, At>(
  db: Database,
  found: Search<At, Row>,
  hits: readonly At[],
  ascending: boolean,
): Promise<(Row & Partial<Sized>)[]> {
  if (hits.length === 0) return [];
  const rows = await db.read<Row & Partial<Sized>>(found.rowsAt(hits, ascending));
  return rows.filter((row) => found.fits(row));
}

/** The cursors of a page. After a backward one, what it was read from follows, and so it always has a next one. */
function endsOf<Row, At>(
  { cursors, search: searched }: Pick<Listing<Row, At, unknown>, 'cursors' | 'search'>,
  { backward, stop, full }: Begun<Row, At>,
  { first, last, more }: Extent<At>,
): PageEnds {
  const searchedTo = stop === null || full ? null : searched!.instantOf(stop.at);
  if (!backward) {
    const next = more && last !== null ? { at: last, skip: 0 } : stop;
    return {
      nextCursor: next === null ? null : cursorAfter(cursors, next.at, next.skip),
      prevCursor: first === null ? null : cursorBefore(cursors, first),
      searchedTo,
    };
  }
  const end = stop?.at ?? last;
  const follows = first ?? end;
  return {
    nextCursor: follows === null ? START_CURSOR : cursorAfter(cursors, follows),
    prevCursor: end === null ? null : cursorBefore(cursors, end),
    searchedTo,
  };
}

/** Reads all large rows, some megabytes at a time. */
async function* readParts<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  begun: Begun<Row, At>,
): AsyncGenerator<PagePart<Item>> {
  const ends = endsOf(listing, begun, begun);
  let left = begun.large;
  while (left.length > 0) {
    const found = await readLarge(db, listing, left, { maxBytes: MAX_PAGE_BYTES, atLeastOne: true });
    yield { items: await listing.toItems(found), ...ends };
    left = left.slice(countUpTo(listing, left, found.at(-1)));
  }
}

/** Reads the large rows that still fit on the page with those already read. */
async function* readOnePart<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  begun: Begun<Row, At>,
): AsyncGenerator<PagePart<Item>> {
  const { found, ends } = await readFitting(db, listing, begun);
  yield { items: await listing.toItems(found), ...ends };
}

/** The same for a page that is turned round: in one part, with those that were read along. */
async function* readTurned<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  begun: Begun<Row, At>,
): AsyncGenerator<PagePart<Item>> {
  const { found, ends } = await readFitting(db, listing, begun);
  const items = await listing.toItems([...begun.whole, ...found]);
  yield { items: [...items].reverse(), ...ends };
}

async function readFitting<Row extends object, At, Item>(
  db: Database,
  listing: Listing<Row, At, Item>,
  begun: Begun<Row, At>,
): Promise<{ found: readonly Row[]; ends: PageEnds }> {
  const { whole, large } = begun;
  const maxBytes = Math.max(0, MAX_PAGE_BYTES - textLength(whole));
  const found = await readLarge(db, listing, large, { maxBytes, atLeastOne: whole.length === 0 });
  const isCut = found.length === 0 ? whole.length > 0 : countUpTo(listing, large, found.at(-1)) < large.length;
  const end = found.at(-1) ?? whole.at(-1);
  if (!isCut || end === undefined) return { found, ends: endsOf(listing, begun, begun) };
  const cut = { first: begun.first, last: listing.placeOf(end), more: true };
  return { found, ends: endsOf(listing, { ...begun, stop: null }, cut) };
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
  const placeOf = (row: Row): string => cursorAfter(listing.cursors, listing.placeOf(row));
  const place = placeOf(last);
  return rows.findIndex((row) => placeOf(row) === place) + 1;
}

async function readCount(db: Database, query: TenantRead): Promise<number> {
  const [row] = await db.count<{ total: number }>(query);
  return row?.total ?? 0;
}
