import type { DeadLetterGroupRecord } from '../../domain/records.js';
import { int8Array } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { scanGroups } from '../../store/lists/dead-letter-lists.js';
import type { TenantRead, Scan } from '../../store/lists/list-statements.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { cursorAfter, DEAD_LETTER_CURSOR, readCursor, type DeadLetterPlace } from '../shared/cursor.js';
import { search } from '../shared/search.js';
import type { DeadLetterGroupPage, DeadLetterGroupsQuery } from '../api.js';
import { searchByCreation } from './dead-letter-list.js';

/**
 * Dead letters by what they have in common, the group with the newest entry first. There are two ways to them, in the
 * same order and with the same cursors. Most tenants have few groups, of many entries: those are found by going from
 * group to group. A tenant whose errors are all different has too many for that: its entries are walked from the newest
 * on, like those of a search, and each that is the newest of its group stands for it.
 */
const sql = loadStatements('jobs/dead-letters.sql');

/** How many groups are looked at for a page. */
const MAX_KNOWN = 5_000;

interface GroupRow extends Pick<DeadLetterGroupRecord, 'fingerprint' | 'reason' | 'message' | 'count' | 'open'> {
  readonly task: string;
  readonly first_at: string;
  readonly last_at: string;
  /** A bigint, as text. */
  readonly latest_id: string;
}

/** The first row says whether there are too many, even if there is no group: then the rest is null. */
type KnownRow = { readonly too_many: boolean } & (GroupRow | { readonly fingerprint: null });

export async function readGroups(
  db: Database,
  tenant: string,
  query: DeadLetterGroupsQuery,
): Promise<DeadLetterGroupPage> {
  const after = query.cursor === null ? null : readCursor(DEAD_LETTER_CURSOR, query.cursor).at;
  const groups = await knownGroups(db, tenant, query, after);
  return groups === null ? walkToGroups(db, tenant, query, after) : pageOf(groups, query.limit);
}

/** One more than asked for, if there are as many; null: the tenant has too many groups to look at each. */
async function knownGroups(
  db: Database,
  tenant: string,
  { since, queue, task, replayed, limit }: DeadLetterGroupsQuery,
  after: DeadLetterPlace | null,
): Promise<readonly DeadLetterGroupRecord[] | null> {
  const statement = sql.dead_letter_groups({
    tenant,
    since,
    queue,
    task,
    replayed,
    after_at: after?.createdAt ?? null,
    after_id: after?.id ?? null,
    max_groups: limit + 1,
    max_known: MAX_KNOWN,
  });
  const rows = await db.count<KnownRow>({ tenant, statement });
  if (rows[0]?.too_many === true) return null;
  return rows.flatMap((row) => (row.fingerprint === null ? [] : [toGroup(row)]));
}

function pageOf(found: readonly DeadLetterGroupRecord[], limit: number): DeadLetterGroupPage {
  const groups = found.slice(0, limit);
  const last = groups.at(-1);
  const more = found.length > limit && last !== undefined;
  return { groups, nextCursor: more ? cursorAfter(DEAD_LETTER_CURSOR, placeOf(last)) : null, searchedTo: null };
}

async function walkToGroups(
  db: Database,
  tenant: string,
  { since, queue, task, replayed, limit }: DeadLetterGroupsQuery,
  after: DeadLetterPlace | null,
): Promise<DeadLetterGroupPage> {
  const filter = { tenant, queue, task, replayed, createdAfter: since };
  const walk = { ...searchByCreation, scan: (scan: Scan<DeadLetterPlace>): TenantRead => scanGroups(filter, scan) };
  const { hits, stop } = await search(db, walk, { ascending: false, after, limit: limit + 1, offset: 0 });
  const places = hits.slice(0, limit);
  const ids = int8Array(places.map(({ id }) => id));
  const statement = sql.dead_letter_groups_of({ tenant, ids, since, queue, replayed });
  const rows = await db.read<GroupRow>({ tenant, statement });
  const end = hits.length > limit ? places.at(-1) : stop?.at;
  return {
    groups: rows.map(toGroup),
    nextCursor: end === undefined ? null : cursorAfter(DEAD_LETTER_CURSOR, end),
    searchedTo: stop !== null && places.length < limit ? stop.at.createdAt : null,
  };
}

const placeOf = ({ last_at: createdAt, latest_id: id }: DeadLetterGroupRecord): DeadLetterPlace => ({ createdAt, id });

const toGroup = (row: GroupRow): DeadLetterGroupRecord => ({
  fingerprint: row.fingerprint,
  task_name: row.task,
  reason: row.reason,
  message: row.message,
  count: row.count,
  open: row.open,
  first_at: toInstant(row.first_at),
  last_at: toInstant(row.last_at),
  latest_id: Number(row.latest_id),
});
