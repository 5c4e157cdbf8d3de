import { LOG_ATTEMPT_BYTES, LOG_LEVELS, LOG_PAGE_LINES, type JobStatus } from '@millrace/contract';
import { invalidField, notFound, type MillraceError } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import { keepable, type LogLine } from '../../domain/log-lines.js';
import type { JobLogs, JsonText, LogRecord } from '../../domain/records.js';
import { int4Array, jsonArray, textArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { LogsQuery } from '../api.js';
import type { ExpiryBounds } from '../durable/checkpoints.js';
import { leaseKeyColumns, type LeaseKey } from '../leases/lease-key.js';
import { LogFollowers, type Read } from './log-followers.js';
import type { Reads } from './reads.js';

/**
 * What handlers write, kept with the attempt. Whoever holds the lease may add lines; a call for many jobs adds all of
 * them with one statement. Nothing is written or asked for jobs whose handlers write nothing.
 */
const sql = loadStatements('jobs/logs.sql');

const BATCH = { maxItems: 1000, inFlight: 1, maxWaiting: 10_000 };

/** What the attempt under a lease wrote. */
export interface NewLines extends LeaseKey {
  readonly lines: readonly LogLine[];
}

interface LineRow {
  readonly attempt: number;
  readonly seq: string;
  readonly at: string;
  readonly level: number;
  readonly message: string;
  readonly fields: JsonText | null;
}

interface StateRow {
  readonly status: JobStatus;
  readonly total: number;
  readonly omitted: number;
}

/** The last line that a reader has: its attempt, and its number there. */
interface Place {
  readonly attempt: number;
  readonly seq: number;
}

const START: Place = { attempt: 0, seq: 0 };

/** For retention: removes the lines of jobs that it has removed. */
export const expireLogs = (bounds: ExpiryBounds): Statement => sql.expire_logs(bounds);

export class Logs {
  readonly #batches = new Batcher<NewLines, null>((items) => this.#append(items), {
    ...BATCH,
    weigh: ({ lines }) => lines.reduce((sum, { bytes }) => sum + bytes, 0),
  });
  readonly #followers: LogFollowers;

  constructor(
    private readonly db: Database,
    private readonly reads: Reads,
  ) {
    this.#followers = new LogFollowers(db);
  }

  /** Lines under a lease that is not held are dropped. */
  async append(item: NewLines): Promise<void> {
    await this.#batches.submit(item);
  }

  /** The same for many, refusals included. */
  appendAll(items: readonly NewLines[]): Promise<(MillraceError | null)[]> {
    return this.#batches.submitAll(items);
  }

  async page(tenant: string, id: string, query: LogsQuery, signal: AbortSignal): Promise<JobLogs> {
    if (!isUuid(id)) throw notFound('job');
    const after = query.after === null ? START : placeOf(query.after);
    const read = (): Promise<Read> => this.#read(tenant, id.toLowerCase(), query.attempt, after);
    if (query.waitSecs === 0) return (await read()).page;
    return this.#followers.follow(tenant, id.toLowerCase(), query.waitSecs, signal, read);
  }

  /** The state goes first: of a job that had ended by then, all lines are there. */
  async #read(tenant: string, id: string, attempt: number | null, after: Place): Promise<Read> {
    const bounds = { attempt, attempt_bytes: LOG_ATTEMPT_BYTES };
    const [state] = await this.db.read<StateRow>({ tenant, statement: sql.log_of_job({ tenant, id, ...bounds }) });
    if (!state) throw await this.reads.refusal(id);
    const statement = sql.lines_of_job({
      ...{ id, attempt, after_attempt: after.attempt, after_seq: after.seq, max_lines: LOG_PAGE_LINES },
    });
    const lines = (await this.db.read<LineRow>({ tenant, statement })).map(toRecord);
    const ended = isTerminal(state.status);
    const hasNext = !ended || lines.length === LOG_PAGE_LINES;
    const { attempt: at, seq } = lines.at(-1) ?? after;
    const page = { lines, omitted: state.omitted, next: hasNext ? `${at}.${seq}` : null };
    return { page, total: state.total, isOver: ended || lines.length > 0 };
  }

  async #append(items: readonly NewLines[]): Promise<null[]> {
    const calls = merged(items).map(({ id, token, lines }) => ({ id, token, count: lines.length, ...keepable(lines) }));
    const lines = calls.flatMap((call, n) => call.lines.map((line) => ({ ...line, job: n + 1 })));
    const rows = await this.db.run<{ id: string }>(
      sql.append_logs({
        ...leaseKeyColumns(calls),
        counts: int4Array(calls.map(({ count }) => count)),
        sizes: int4Array(calls.map(({ bytes }) => bytes)),
        jobs: int4Array(lines.map(({ job }) => job)),
        places: int4Array(lines.map(({ place }) => place)),
        offsets: int4Array(lines.map(({ offset }) => offset)),
        bytes: int4Array(lines.map(({ bytes }) => bytes)),
        ats: textArray(lines.map(({ at }) => at)),
        levels: int4Array(lines.map(({ level }) => LOG_LEVELS.indexOf(level))),
        messages: textArray(lines.map(({ message }) => message)),
        fields: jsonArray(lines.map(({ fields }) => fields)),
        attempt_bytes: LOG_ATTEMPT_BYTES,
      }),
    );
    for (const { id } of rows) this.#followers.wake(id);
    return items.map(() => null);
  }
}

/** A statement names each lease once. */
function merged(items: readonly NewLines[]): readonly NewLines[] {
  const byLease = new Map<string, NewLines>();
  for (const item of items) {
    const key = `${item.id} ${item.token}`;
    const earlier = byLease.get(key);
    byLease.set(key, earlier ? { ...item, lines: [...earlier.lines, ...item.lines] } : item);
  }
  return [...byLease.values()];
}

function placeOf(after: string): Place {
  const [, attempt, seq] = /^(\d{1,9})\.(\d{1,15})$/.exec(after) ?? [];
  if (attempt === undefined || seq === undefined) throw invalidField('after', 'must be the next of a page before');
  return { attempt: Number(attempt), seq: Number(seq) };
}

const toRecord = ({ attempt, seq, at, level, message, fields }: LineRow): LogRecord => ({
  attempt,
  seq: Number(seq),
  at: toInstant(at),
  level: LOG_LEVELS[level] ?? 'info',
  message,
  fields,
});
