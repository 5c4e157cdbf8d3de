import { LIMIT_WAITING_COUNTED, WALK_LIMIT, type AdminLimitUse } from '@millrace/contract';
import { isLimitedId } from '../../domain/ids.js';
import { nextTokenSecs } from '../../domain/rates.js';
import type { PlaceInLine } from '@millrace/sdk/rules';
import type { Database } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { LimitPageRead, LimitsQuery } from '../api.js';
import { tokenBucketOf } from './rated.js';
import { cursorAfter, namesCursor, readCursor } from '../shared/cursor.js';

/** What people are told about limits. */
const sql = loadStatements('limits/reads.sql');

interface RateColumns {
  readonly rate_count: number | null;
  readonly rate_secs: number | null;
  readonly rate_burst: number | null;
}

interface PlaceRow extends RateColumns {
  readonly key: string;
  readonly running: number;
  readonly most: number | null;
  readonly ahead: number;
  readonly tokens: number | null;
  readonly elapsed_secs: number | null;
  readonly given: number;
  readonly gone: number;
  readonly now: string;
}

interface UseRow extends RateColumns {
  readonly tenant: string;
  readonly queue: string;
  readonly key: string;
  readonly running: number;
  readonly most: number | null;
  readonly waiting: number;
  readonly oldest: string | null;
}

/** By queue and key; of all tenants, by tenant before that. */
const OF_TENANT = namesCursor(2);
const OF_ALL = namesCursor(3);
/** Reads that are not for a tenant take turns with those of tenants under this name. */
const OPERATORS_TURN = '\0limits';

export class LimitReads {
  constructor(private readonly db: Database) {}

  /** Null: it waits in no line. Costs nothing for a job without limits. */
  async placeOf(tenant: string, id: string): Promise<PlaceInLine | null> {
    if (!isLimitedId(id)) return null;
    const statement = sql.place_in_line({ tenant, id, max_jobs: WALK_LIMIT });
    const [row] = await this.db.read<PlaceRow>({ tenant, statement });
    return row ? toPlace(row) : null;
  }

  /** Those of one tenant. */
  page(tenant: string, query: LimitsQuery): Promise<LimitPageRead> {
    const [afterQueue = '', afterKey = ''] =
      query.cursor === null ? [] : (readCursor(OF_TENANT, query.cursor).at ?? []);
    const place = { after_queue: afterQueue, after_key: afterKey };
    const statement = sql.limits_of_tenant({ tenant, ...place, ...boundsOf(query) });
    return this.#read(tenant, statement, query, ({ queue, key }) => cursorAfter(OF_TENANT, [queue, key]));
  }

  /** Those of all tenants. */
  pageOfAll(query: LimitsQuery): Promise<LimitPageRead> {
    const after = query.cursor === null ? [] : (readCursor(OF_ALL, query.cursor).at ?? []);
    const [afterTenant = '', afterQueue = '', afterKey = ''] = after;
    const place = { after_tenant: afterTenant, after_queue: afterQueue, after_key: afterKey };
    const statement = sql.limits_of_all({ ...place, ...boundsOf(query) });
    const cursorOf = ({ tenant, queue, key }: UseRow): string => cursorAfter(OF_ALL, [tenant, queue, key]);
    return this.#read(OPERATORS_TURN, statement, query, cursorOf);
  }

  /** For the metrics. */
  async waiting(): Promise<{ readonly waiting: number; readonly oldestSecs: number | null }> {
    const [row] = await this.db.runPlanned<{ waiting: number; oldest_secs: number | null }>(
      sql.waiting_for_room({ max_jobs: WALK_LIMIT }),
    );
    return { waiting: row?.waiting ?? 0, oldestSecs: row?.oldest_secs ?? null };
  }

  async #read(
    tenant: string,
    statement: Statement,
    { limit }: LimitsQuery,
    cursorOf: (row: UseRow) => string,
  ): Promise<LimitPageRead> {
    const rows = await this.db.read<UseRow>({ tenant, statement });
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { limits: page.map(toUse), nextCursor: last ? cursorOf(last) : null };
  }
}

/** One more than is shown: it tells whether another page follows. */
const boundsOf = ({ queue, limit }: LimitsQuery) => ({
  only: queue,
  limit: limit + 1,
  max_jobs: LIMIT_WAITING_COUNTED,
});

function toPlace({ key, running, most, ahead, now, ...row }: PlaceRow): PlaceInLine {
  const { rate_count: old_count, rate_secs: old_secs, rate_burst: old_burst } = row;
  const bucket = tokenBucketOf({ ...row, old_count, old_secs, old_burst, waited: true, refunded: 0 });
  const nextSecs = bucket === undefined ? null : nextTokenSecs(bucket);
  return { key, running, limit: most, ahead, rate: bucket?.rate ?? null, nextSecs, now: toInstant(now) };
}

const toUse = (row: UseRow): AdminLimitUse => ({
  tenant_id: row.tenant,
  queue: row.queue,
  key: row.key,
  running: row.running,
  limit: row.most,
  rate: rateIn(row),
  waiting: row.waiting,
  oldest: toInstantOrNull(row.oldest),
});

function rateIn({ rate_count: count, rate_secs: secs, rate_burst: burst }: UseRow): AdminLimitUse['rate'] {
  return count === null || secs === null ? null : { count, per_secs: secs, burst: burst ?? 1 };
}
