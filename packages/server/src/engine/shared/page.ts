import type { Database } from '../../store/database.js';
import type { ListWindow, Query } from '../../store/list-statements.js';
import type { ListQuery, Page } from '../api.js';

/** A list that can be read page by page. `At` is the place where a page ended. */
export interface Listing<Row, At> {
  list(window: ListWindow<At>): Query;
  count(): Query;
  decodeCursor(cursor: string): At;
  encodeCursor(last: Row): string;
}

/** One row more than asked for tells whether there is another page. The offset is for those who have no cursor. */
export async function readPage<Row extends object, At>(
  db: Database,
  query: ListQuery,
  listing: Listing<Row, At>,
): Promise<Page<Row>> {
  const { ascending, limit } = query;
  const after = query.cursor === null ? null : listing.decodeCursor(query.cursor);
  const page = listing.list({ ascending, after, limit: limit + 1, offset: after === null ? query.offset : 0 });
  const [rows, total] = await Promise.all([
    db.read<Row>(page),
    query.includeTotal ? readCount(db, listing.count()) : null,
  ]);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, total, nextCursor: rows.length > limit && last ? listing.encodeCursor(last) : null };
}

async function readCount(db: Database, query: Query): Promise<number> {
  const [row] = await db.count<{ total: number }>(query);
  return row?.total ?? 0;
}
