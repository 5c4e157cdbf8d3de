import { isUuid } from '../../domain/ids.js';
import type { DeadLetterRecord, Instant } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import {
  countDeadLetters,
  deadLettersAt,
  isDeadLetterSearch,
  listDeadLetters,
  scanDeadLetters,
  type TenantDeadLetterFilter,
} from '../../store/lists/dead-letter-lists.js';
import type { ScanRow } from '../../store/lists/list-statements.js';
import { toDeadLetter, toInstant, type DeadLetterRow } from '../../store/rows.js';
import { DEAD_LETTER_CURSOR, type DeadLetterPlace } from '../shared/cursor.js';
import { emptyPage, readPage } from '../shared/page.js';
import type { Search } from '../shared/search.js';
import type { DeadLetterListQuery, Page } from '../api.js';

/** Dead letters one by one. */
export async function readDeadLetters(
  db: Database,
  tenant: string,
  query: DeadLetterListQuery,
): Promise<Page<DeadLetterRecord>> {
  const filter: TenantDeadLetterFilter = { ...query, tenant };
  if (filter.jobId !== null && !isUuid(filter.jobId)) return emptyPage(query, DEAD_LETTER_CURSOR);
  return readPage<DeadLetterRow, DeadLetterPlace, DeadLetterRecord>(db, query, {
    list: (window) => listDeadLetters(filter, window),
    count: () => countDeadLetters(filter),
    toItems: (rows) => rows.map(toDeadLetter),
    placeOf: (row) => placeAt(row.created_at, row.id),
    cursors: DEAD_LETTER_CURSOR,
    search: isDeadLetterSearch(filter) ? searchOf(filter) : null,
  });
}

const searchOf = (filter: TenantDeadLetterFilter): Search<DeadLetterPlace, DeadLetterRow> => ({
  scan: (scan) => scanDeadLetters(filter, scan),
  ...searchByCreation,
  rowsAt: (places, ascending) => deadLettersAt(filter.tenant, places, ascending),
  // Nothing of an entry changes but this.
  fits: (row) => filter.replayed === null || filter.replayed === (row.replayed_at !== null),
});

/** The part of a search that all walks along dead letters share. */
export const searchByCreation = {
  hitOf: ({ created_at: at, id }: ScanRow): DeadLetterPlace | null => (at && id !== null ? placeAt(at, id) : null),
  lastOf: ({ last_created_at: at, last_id: id }: ScanRow): DeadLetterPlace | null =>
    at && id !== null ? placeAt(at, id) : null,
  instantOf: ({ createdAt }: DeadLetterPlace): Instant => createdAt,
};

const placeAt = (createdAt: string, id: string): DeadLetterPlace => ({
  createdAt: toInstant(createdAt),
  id: Number(id),
});
