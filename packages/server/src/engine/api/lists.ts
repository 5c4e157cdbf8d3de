import type { CreatedRange } from '../../domain/filters.js';
import type { Instant } from '../../domain/records.js';

export interface ListQuery extends CreatedRange {
  readonly limit: number;
  readonly offset: number;
  readonly ascending: boolean;
  readonly includeTotal: boolean;
  /** The opaque text as the caller sent it; the engine decodes it and refuses what it did not issue. */
  readonly cursor: string | null;
}

/** Of a list that has one order, and is read forwards. */
export type CursorQuery = Pick<ListQuery, 'limit' | 'cursor'>;

/** The cursors of a page. */
export interface PageEnds {
  /** Null: nothing follows. */
  readonly nextCursor: string | null;
  /** Null: the page is empty. */
  readonly prevCursor: string | null;
  /** If a search stopped at its bound before the page was full: the creation of the last item it looked at. */
  readonly searchedTo: Instant | null;
}

/** Its ends are those of its last part, if it has parts. */
export interface Page<T> extends PageEnds {
  readonly items: readonly T[];
  /**
   * Null: `items` is the whole page. Otherwise: the large items that follow, read from the database part by part as the
   * caller asks for them.
   */
  readonly rest: AsyncIterable<PagePart<T>> | null;
  readonly total: number | null;
}

/** About how much of a page is read at once, and about how much a page by cursor holds. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

export interface PagePart<T> extends PageEnds {
  readonly items: readonly T[];
}
