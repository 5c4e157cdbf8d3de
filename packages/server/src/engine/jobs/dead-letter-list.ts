import { isUuid } from '../../domain/ids.js';
import type { DeadLetterGroupRecord, DeadLetterRecord } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import {
  countDeadLetters,
  deadLettersAt,
  isDeadLetterSearch,
  listDeadLetters,
  scanDeadLetters,
  type TenantDeadLetterFilter,
} from '../../store/lists/dead-letter-lists.js';
import { toDeadLetter, toInstant, type DeadLetterRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { cursorAfter, DEAD_LETTER_CURSOR, readCursor, type DeadLetterPlace } from '../shared/cursor.js';
import { emptyPage, readPage } from '../shared/page.js';
import type { Search } from '../shared/search.js';
import type { DeadLetterGroupPage, DeadLetterGroupsQuery, DeadLetterListQuery, Page } from '../api.js';

/** Dead letters one by one, and by what they have in common. */
const sql = loadStatements('jobs/dead-letters.sql');

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
  hitOf: ({ created_at: at, id }) => (at && id !== null ? placeAt(at, id) : null),
  lastOf: ({ last_created_at: at, last_id: id }) => (at && id !== null ? placeAt(at, id) : null),
  rowsAt: (places, ascending) => deadLettersAt(filter.tenant, places, ascending),
  // Nothing of an entry changes but this.
  fits: (row) => filter.replayed === null || filter.replayed === (row.replayed_at !== null),
  instantOf: ({ createdAt }) => createdAt,
});

const placeAt = (createdAt: string, id: string): DeadLetterPlace => ({
  createdAt: toInstant(createdAt),
  id: Number(id),
});

interface GroupRow extends Pick<DeadLetterGroupRecord, 'fingerprint' | 'reason' | 'message' | 'count'> {
  readonly task: string;
  readonly first_at: string;
  readonly last_at: string;
  /** A bigint, as text. */
  readonly latest_id: string;
}

export async function readGroups(
  db: Database,
  tenant: string,
  { since, queue, task, limit, cursor }: DeadLetterGroupsQuery,
): Promise<DeadLetterGroupPage> {
  const after = cursor === null ? null : readCursor(DEAD_LETTER_CURSOR, cursor).at;
  const statement = sql.dead_letter_groups({
    tenant,
    since,
    queue,
    task,
    after_at: after?.createdAt ?? null,
    after_id: after?.id ?? null,
    max_groups: limit + 1,
  });
  const rows = await db.count<GroupRow>({ tenant, statement });
  const groups = rows.slice(0, limit).map(toGroup);
  const last = groups.at(-1);
  const more = rows.length > limit && last !== undefined;
  return {
    groups,
    nextCursor: more ? cursorAfter(DEAD_LETTER_CURSOR, { createdAt: last.last_at, id: last.latest_id }) : null,
  };
}

const toGroup = (row: GroupRow): DeadLetterGroupRecord => ({
  fingerprint: row.fingerprint,
  task_name: row.task,
  reason: row.reason,
  message: row.message,
  count: row.count,
  first_at: toInstant(row.first_at),
  last_at: toInstant(row.last_at),
  latest_id: Number(row.latest_id),
});
