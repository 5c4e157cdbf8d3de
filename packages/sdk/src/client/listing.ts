import { defined } from '../task/policy.js';

/** One page of a list. */
export interface Page<T> {
  items: T[];
  /** Pass it to `page()` for the next one; null on the last. */
  nextCursor: string | null;
  total?: number;
}

/**
 * A list, read as it is walked: `for await (const job of millrace.jobs.list())`. Nothing is read before the first step,
 * and each loop starts from the beginning.
 */
export interface Listing<T> extends AsyncIterable<T> {
  /** One page: the first, or the one that a cursor leads to. */
  page(cursor?: string): Promise<Page<T>>;
  /** Everything at once. */
  toArray(): Promise<T[]>;
}

/** What every list takes. */
export interface ListFilter {
  /** At most this many items in all. Without it, everything; `page()` has at most 100. */
  limit?: number;
  /** The newest first otherwise. */
  oldestFirst?: boolean;
  /** Created at or after this instant. */
  createdAfter?: Date;
  /** Created before this instant. */
  createdBefore?: Date;
  /** Count everything that matches (`total` of a page); costs a scan. */
  includeTotal?: boolean;
  signal?: AbortSignal;
}

const LARGEST_PAGE = 100;

export type Query = Record<string, string | number | boolean | undefined>;

/** The parameters that all lists have in common. */
export function listQuery(filter: ListFilter): Query {
  return defined({
    limit: Math.min(filter.limit ?? LARGEST_PAGE, LARGEST_PAGE),
    order_by: filter.oldestFirst === true ? 'created_at ASC' : undefined,
    created_after: filter.createdAfter?.toISOString(),
    created_before: filter.createdBefore?.toISOString(),
    include_total: filter.includeTotal === true ? true : undefined,
  });
}

export function listing<T>(limit: number | undefined, read: (cursor?: string) => Promise<Page<T>>): Listing<T> {
  const most = limit ?? Infinity;
  async function* walk(): AsyncGenerator<T, void, undefined> {
    let left = most;
    let cursor: string | undefined;
    while (left > 0) {
      const { items, nextCursor } = await read(cursor);
      for (const item of items) {
        yield item;
        if (--left <= 0) return;
      }
      if (nextCursor === null) return;
      cursor = nextCursor;
    }
  }
  return {
    page: read,
    async toArray() {
      const items: T[] = [];
      for await (const item of walk()) items.push(item);
      return items;
    },
    [Symbol.asyncIterator]: walk,
  };
}

/** A page of the service as a page of the SDK. */
export function pageOf<W, T>(
  page: { has_more?: boolean; next_cursor?: string; total?: number },
  items: readonly W[],
  map: (item: W) => T,
): Page<T> {
  return {
    items: items.map(map),
    nextCursor: page.has_more === true ? (page.next_cursor ?? null) : null,
    ...(page.total !== undefined && { total: page.total }),
  };
}
