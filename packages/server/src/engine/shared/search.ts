import { WALK_LIMIT } from '@millrace/contract';
import { createdAtOf } from '../../domain/ids.js';
import type { Database } from '../../store/connection/database.js';
import type { Scan, ScanRow, TenantRead } from '../../store/lists/list-statements.js';

/**
 * A filter that no index serves walks along the list and looks at each row. It goes in chunks, and a page ends when it
 * is full, at the end of the list, or after WALK_LIMIT rows or MAX_MS: then it comes back short, and its cursor leads
 * on from where the walk stopped. So no index has to be kept for such a filter, and none of its pages takes long.
 *
 * A chunk is small at first and grows while chunks are quick: if rows have to come from a slow disk, they are read few
 * at a time.
 */
export interface Search<At, Row> {
  scan(scan: Scan<At>): TenantRead;
  /** Where a row of the walk is. */
  hitOf(row: ScanRow): At | null;
  lastOf(row: ScanRow): At | null;
  /** The rows at these places, in the order of the walk. */
  rowsAt(hits: readonly At[], ascending: boolean): TenantRead;
  /** Whether a row still matches: it may have changed since the walk came past. */
  fits(row: Row): boolean;
  /** For the caller: everything up to this instant has been searched. */
  instantOf(at: At): string;
}

export interface SearchResult<At> {
  /** In the order of the walk, at most as many as were asked for. */
  readonly hits: readonly At[];
  /** Where the walk reached its bound, and how many matches were still to be skipped. Null: it did not. */
  readonly stop: { readonly at: At; readonly skip: number } | null;
}

const MAX_MS = 250;
const CHUNK = { first: 500, smallest: 100, largest: 5_000, quickMs: 50 };

export async function search<At>(
  db: Database,
  { scan, hitOf, lastOf }: Pick<Search<At, never>, 'scan' | 'hitOf' | 'lastOf'>,
  { ascending, after, limit, offset }: Omit<Scan<At>, 'rows'>,
): Promise<SearchResult<At>> {
  const hits: At[] = [];
  const begun = performance.now();
  let [place, skip, walked, rows] = [after, offset, 0, CHUNK.first];
  for (;;) {
    const started = performance.now();
    const found = await db.read<ScanRow>(
      scan({ ascending, after: place, rows, offset: skip, limit: limit - hits.length }),
    );
    for (const row of found) {
      const hit = hitOf(row);
      if (hit !== null) hits.push(hit);
    }
    const [first] = found;
    if (first === undefined || hits.length >= limit || first.walked < rows) return { hits, stop: null };
    walked += first.walked;
    skip = Math.max(0, skip - first.hits);
    place = lastOf(first);
    const now = performance.now();
    if (place !== null && (walked >= WALK_LIMIT || now - begun >= MAX_MS)) return { hits, stop: { at: place, skip } };
    rows = Math.min(nextChunk(rows, now - started), WALK_LIMIT - walked);
  }
}

const nextChunk = (rows: number, tookMs: number): number =>
  tookMs < CHUNK.quickMs ? Math.min(CHUNK.largest, rows * 2) : Math.max(CHUNK.smallest, Math.floor(rows / 2));

/** The part of a search that all lists in order of id share. */
export const searchById = {
  hitOf: ({ id }: ScanRow): string | null => id,
  lastOf: ({ last_id: id }: ScanRow): string | null => id,
  instantOf: createdAtOf,
};
