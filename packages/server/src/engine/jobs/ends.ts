import { FOLLOW_SECS, type TerminalJobStatus } from '@millrace/contract';
import { unavailable } from '../../domain/errors.js';
import type { JobSummaryRecord } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { EndedJobsPage, EndedJobsQuery } from '../api.js';
import { cursorAfter, ENDS_CURSOR, firstSeen, readCursor, type EndsPlace } from '../shared/cursor.js';
import type { Reads } from './reads.js';

/**
 * Jobs in the order in which they ended. While a tenant asks, the statements that end jobs record which; nothing is
 * recorded of the others. A place in the order is a snapshot: what it did not see comes next, so that an end is told
 * once and none is left out, however late its commit became visible. What is new is told page by page up to a second
 * snapshot, which is the place of whoever has read the last page.
 */
const sql = loadStatements('jobs/ends.sql');

/** How long recording goes on. It is prolonged, which is a write, only by a question that finds too little left. */
const RECORD_SECS = 2 * FOLLOW_SECS;
/** Too little to rely on: a statement may have begun after recording ended and before its prolongation was visible. */
const MARGIN_SECS = 10;
/** Who reads a page later than this may find ends removed. Those are kept longer by what a transaction may take. */
const PAGE_SECS = 240;
const KEPT_SECS = 300;
const FORGET_BATCH = 10_000;
/** Errors may be long, so a page ends when it has this much. */
const PAGE_BYTES = 1024 * 1024;
/** A snapshot names the transactions that are under way. One that names too many for a URL is taken to be older. */
const SNAPSHOT_CHARACTERS = 1_000;

interface Moment {
  readonly snapshot: string;
  readonly at: string;
  readonly course: string;
}

interface EndRow {
  readonly xid: string;
  readonly seq: string;
  readonly id: string;
  readonly status: TerminalJobStatus;
}

/** For whoever removes traces: what nobody will ask for any more. */
export async function forgetEnds(db: Database): Promise<void> {
  const statement = sql.forget_ends({ secs: KEPT_SECS, max_rows: FORGET_BATCH });
  while ((await db.run(statement)).length === FORGET_BATCH);
}

export class Ends {
  constructor(
    private readonly db: Database,
    private readonly reads: Reads,
  ) {}

  async page(tenant: string, query: EndedJobsQuery): Promise<EndedJobsPage> {
    const place = query.after === null ? null : readCursor(ENDS_CURSOR, query.after).at;
    const now = await this.#follow(tenant);
    if (place?.course !== now.course)
      return { jobs: [], more: false, missed: place !== null, next: placeText(beginningOf(now)) };
    const page = { upto: now.snapshot, uptoAt: now.at, xid: firstSeen(place.since), seq: '0', ...place.page };
    const rows = await this.#rows(tenant, place.since, page, query.limit);
    const wanted = rows.filter(({ status }) => query.statuses.length === 0 || query.statuses.includes(status));
    const records = await this.#records(tenant, wanted);
    const last = records.at(-1)?.id;
    // The record of the last one may be missing because the page is full, or because the job is gone.
    const isCut = last !== undefined && last !== wanted.at(-1)?.id;
    const told = isCut ? rows.find(({ id }) => id === last) : rows.at(-1);
    const more = told !== undefined && (isCut || rows.length === query.limit);
    const next: EndsPlace = more
      ? { ...place, page: { ...page, xid: told.xid, seq: told.seq } }
      : { course: now.course, at: page.uptoAt, since: page.upto, page: null };
    return {
      jobs: records.filter((job) => fits(job, query)),
      more,
      missed: Date.parse(now.at) - Date.parse(place.at) > PAGE_SECS * 1_000,
      next: placeText(next),
    };
  }

  /** The ends of the tenant are recorded when this returns, and will be for a while. */
  async #follow(tenant: string): Promise<Moment> {
    const known = await this.#moment(tenant, FOLLOW_SECS + MARGIN_SECS);
    if (known !== null) return known;
    await this.db.run(sql.follow_ends({ tenant, secs: RECORD_SECS, margin_secs: MARGIN_SECS }));
    const moment = await this.#moment(tenant, 0);
    if (moment === null) throw unavailable('ended jobs could not be followed; try again');
    return moment;
  }

  async #moment(tenant: string, atLeastSecs: number): Promise<Moment | null> {
    const statement = sql.course_of_tenant({ tenant, at_least_secs: atLeastSecs });
    const [row] = await this.db.read<{ snapshot: string; at: string; course: string | null }>({ tenant, statement });
    const { snapshot, at, course } = row!;
    return course === null ? null : { snapshot: bounded(snapshot), at: toInstant(at), course };
  }

  #rows(
    tenant: string,
    since: string,
    { upto, xid, seq }: NonNullable<EndsPlace['page']>,
    limit: number,
  ): Promise<EndRow[]> {
    const bounds = { tenant, since, upto, after_xid: xid, after_seq: seq, max_rows: limit };
    return this.db.read<EndRow>({ tenant, statement: sql.ends_between(bounds) });
  }

  async #records(tenant: string, rows: readonly EndRow[]): Promise<readonly JobSummaryRecord[]> {
    if (rows.length === 0) return [];
    const ids = rows.map(({ id }) => id);
    return this.reads.summariesOf(tenant, ids, { maxBytes: PAGE_BYTES, atLeastOne: true });
  }
}

const beginningOf = ({ course, at, snapshot }: Moment): EndsPlace => ({ course, at, since: snapshot, page: null });

const placeText = (place: EndsPlace): string => cursorAfter(ENDS_CURSOR, place);

/** The same as if all that it names as under way, and all that began since, had not been seen: it is told later. */
const bounded = (snapshot: string): string =>
  snapshot.length <= SNAPSHOT_CHARACTERS ? snapshot : `${firstSeen(snapshot)}:${firstSeen(snapshot)}:`;

const fits = ({ queue_name, task_name }: JobSummaryRecord, { queue, task }: EndedJobsQuery): boolean =>
  (queue === null || queue_name === queue) && (task === null || task_name === task);
