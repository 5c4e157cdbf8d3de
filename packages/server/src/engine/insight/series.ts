import {
  SERIES_OTHER,
  SERIES_PER_TENANT,
  SERIES_STEPS,
  SERIES_TENANTS_SHOWN,
  type Series as SeriesAnswer,
} from '@millrace/contract';
import { plotOf, type Ended, type EndsByTenant, type PlotSteps } from '../../domain/ends-by-tenant.js';
import { addCounts, percentile, type BucketCounts } from '../../domain/latency-buckets.js';
import { int4Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { AdminSeriesQuery, SeriesQuery } from '../api.js';
import type { EngineMetrics } from '../shared/counters.js';
import { newTally, type Origin, type SeriesRecorder, type Tally } from '../shared/series-recorder.js';

/** What happened over time: written from what processes note in memory, read as columns of a plot. */
const sql = loadStatements('insight/series.sql');

/** Means every queue, or every task, in the key of a series: neither can have an empty name. */
const ALL = '';
/** One statement adds so many series at most. What is left is written by the next one. */
const WRITE_BATCH = 2_000;
/** Names that were looked up are remembered, so many at most. */
const MAX_NAMES = 20_000;
const FORGET_BATCH = 5_000;

/** Reads of operators take turns with each other, not with those of tenants, none of whom has a name with a NUL. */
const OPERATORS_TURN = '\0ends';
/** How many rows of all tenants and tasks one answer looks at. */
const MAX_WALKED = 200_000;

interface SeriesRow {
  readonly first: number;
  readonly step: number;
  readonly until: number;
  /** Lists with an element for each step that has a row, as PostgreSQL writes arrays; all are null if none has. */
  readonly at: string | null;
  readonly created: string | null;
  readonly completed: string | null;
  readonly failed: string | null;
  readonly retried: string | null;
  /** Arrays themselves, with semicolons between them. */
  readonly waits: string | null;
  readonly runs: string | null;
}

interface EndsRow extends PlotSteps {
  readonly counted_from: number | null;
  /** In JSON. */
  readonly ended: string;
}

export class Series {
  /** Pairs that have series of their own, as far as this process knows. */
  #named = new Set<string>();

  constructor(
    private readonly db: Database,
    readonly recorder: SeriesRecorder,
    private readonly metrics: Pick<EngineMetrics, 'waited'>,
  ) {}

  /** Writes what was noted since the last time. What cannot be written is kept for the next time, within bounds. */
  async write(): Promise<void> {
    await this.#noteRedeliveries();
    const tallies = this.recorder.take();
    for (let start = 0; start < tallies.length; start += WRITE_BATCH) {
      try {
        await this.#add(tallies.slice(start, start + WRITE_BATCH));
      } catch (error) {
        this.recorder.putBack(tallies.slice(start));
        throw error;
      }
    }
  }

  /** Deletes steps that are past their time, some at a time, and names of which nothing is left. */
  async forget(): Promise<void> {
    for (const { step_secs, keep_secs } of SERIES_STEPS) {
      await this.db.runPlanned(sql.forget_series({ step: step_secs, keep_secs, max_rows: FORGET_BATCH }));
    }
    await this.db.runPlanned(sql.forget_series_names({ max_names: FORGET_BATCH }));
    this.#named = new Set();
  }

  async plot(tenant: string, { queue, task, from, to }: SeriesQuery): Promise<Omit<SeriesAnswer, 'warnings'>> {
    const statement = sql.series_of({ tenant, queue: queue ?? ALL, task: task ?? ALL, since: from, until: to });
    const [row] = await this.db.read<SeriesRow>({ tenant, statement, isBounded: true });
    return toColumns(row!);
  }

  /** Whose jobs ended, for operators: do the tenants of a queue get their share? */
  async endsByTenant({ queue, from, to }: AdminSeriesQuery): Promise<EndsByTenant> {
    const bounds = { max_rows: MAX_WALKED, max_tenants: SERIES_TENANTS_SHOWN };
    const statement = sql.ends_by_tenant({ queue: queue ?? ALL, since: from, until: to, ...bounds });
    const [row] = await this.db.count<EndsRow>({ tenant: OPERATORS_TURN, statement });
    return plotOf(row!, JSON.parse(row!.ended) as Ended[], row!.counted_from);
  }

  /** They waited from the end of the attempt before, if that is later than when they were due. */
  async #noteRedeliveries(): Promise<void> {
    const deliveries = this.recorder.takeRedeliveries();
    if (deliveries.length === 0) return;
    const asked = {
      tenants: textArray(deliveries.map(({ tenant }) => tenant)),
      ids: uuidArray(deliveries.map(({ id }) => id)),
      numbers: int4Array(deliveries.map(({ after }) => after)),
    };
    const rows = await this.db
      .run<{ n: number; ended_ms: number }>(sql.ends_of_attempts(asked))
      .catch((error: unknown) => {
        deliveries.forEach((each) => this.recorder.redelivered(each));
        throw error;
      });
    const ends = new Map(rows.map(({ n, ended_ms: ended }) => [n, ended]));
    deliveries.forEach(({ tenant, queue, task, dueMs, claimedMs }, n) => {
      const secs = Math.max(0, claimedMs - Math.max(dueMs, ends.get(n + 1) ?? dueMs)) / 1000;
      this.metrics.waited(secs);
      this.recorder.waited(tenant, queue, task, secs);
    });
  }

  async #add(tallies: readonly Tally[]): Promise<void> {
    const named = await this.#withNames(tallies);
    const rows = [...rolledUp(named).values()];
    const totals = rows.filter(({ queue, task }) => queue === ALL && task === ALL);
    const column = (read: (tally: Tally) => number, of = rows): Buffer => int4Array(of.map(read));
    await this.db.run(
      sql.add_series({
        tenants: textArray(rows.map(({ tenant }) => tenant)),
        queues: textArray(rows.map(({ queue }) => queue)),
        tasks: textArray(rows.map(({ task }) => task)),
        created: column(({ created }) => created),
        completed: column(({ completed }) => completed),
        failed: column(({ failed }) => failed),
        retried: column(({ retried }) => retried),
        cancelled: column(({ cancelled }) => cancelled),
        waits: textArray(rows.map(({ waits }) => countsText(waits))),
        runs: textArray(rows.map(({ runs }) => countsText(runs))),
        total_tenants: textArray(totals.map(({ tenant }) => tenant)),
        total_created: column(({ created }) => created, totals),
        total_completed: column(({ completed }) => completed, totals),
        total_failed: column(({ failed }) => failed, totals),
        total_cancelled: column(({ cancelled }) => cancelled, totals),
      }),
    );
  }

  /** The tallies under the names they are written under: their own, or "other". */
  async #withNames(tallies: readonly Tally[]): Promise<readonly Tally[]> {
    const unknown = tallies.filter((tally) => !isOther(tally) && !this.#named.has(keyOf(tally)));
    if (unknown.length > 0) {
      if (this.#named.size > MAX_NAMES) this.#named = new Set();
      const found = await this.#name(unknown);
      for (const name of found) this.#named.add(keyOf(name));
    }
    return tallies.map((tally) =>
      this.#named.has(keyOf(tally)) ? tally : { ...tally, queue: SERIES_OTHER, task: SERIES_OTHER },
    );
  }

  #name(tallies: readonly Tally[]): Promise<Origin[]> {
    return this.db.transaction(async (execute) => {
      await execute(sql.lock_series_names());
      return execute(
        sql.name_series({
          tenants: textArray(tallies.map(({ tenant }) => tenant)),
          queues: textArray(tallies.map(({ queue }) => queue)),
          tasks: textArray(tallies.map(({ task }) => task)),
          max_names: SERIES_PER_TENANT - 1,
        }),
      );
    });
  }
}

const keyOf = ({ tenant, queue, task }: Origin): string => `${tenant}\0${queue}\0${task}`;

const isOther = ({ queue, task }: Tally): boolean => queue === SERIES_OTHER && task === SERIES_OTHER;

/** Each tally, and what they add up to by queue and by tenant. */
function rolledUp(tallies: readonly Tally[]): ReadonlyMap<string, Tally> {
  const rows = new Map<string, Tally>();
  const add = (tally: Tally, queue: string, task: string): void => {
    const key = keyOf({ tenant: tally.tenant, queue, task });
    let row = rows.get(key);
    if (!row) rows.set(key, (row = newTally(tally.tenant, queue, task)));
    row.created += tally.created;
    row.completed += tally.completed;
    row.failed += tally.failed;
    row.retried += tally.retried;
    row.cancelled += tally.cancelled;
    addCounts(row.waits, tally.waits);
    addCounts(row.runs, tally.runs);
  };
  for (const tally of tallies) {
    add(tally, tally.queue, tally.task);
    add(tally, tally.queue, ALL);
    add(tally, ALL, ALL);
  }
  return rows;
}

/** As PostgreSQL reads an array, without the zeros at its end. */
function countsText(counts: readonly number[]): string {
  let length = counts.length;
  while (length > 0 && counts[length - 1] === 0) length--;
  return `{${counts.slice(0, length).join(',')}}`;
}

const SHARES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;

function toColumns(row: SeriesRow): Omit<SeriesAnswer, 'warnings'> {
  const { first, step, until } = row;
  const length = Math.max(0, Math.ceil((until - first) / step));
  const places = numbersIn(row.at).map((at) => Math.round((at - first) / step));
  const added = (column: string | null): number[] => {
    const sums = new Array<number>(length).fill(0);
    numbersIn(column).forEach((n, index) => (sums[places[index]!]! += n));
    return sums;
  };
  const counts = {
    created: added(row.created),
    completed: added(row.completed),
    failed: added(row.failed),
    retried: added(row.retried),
  };
  const waits = merged(row.waits, places, length);
  const runs = merged(row.runs, places, length);
  const shares = (of: readonly BucketCounts[], share: number): (number | null)[] =>
    of.map((each) => rounded(percentile(each, share)));
  return {
    from: new Date(first * 1000).toISOString(),
    step_secs: step,
    columns: {
      ...counts,
      wait_p50: shares(waits, SHARES.p50),
      wait_p95: shares(waits, SHARES.p95),
      wait_p99: shares(waits, SHARES.p99),
      run_p50: shares(runs, SHARES.p50),
      run_p95: shares(runs, SHARES.p95),
      run_p99: shares(runs, SHARES.p99),
    },
  };
}

const numbersIn = (array: string | null): number[] => array?.slice(1, -1).split(',').map(Number) ?? [];

const COMMA = ','.charCodeAt(0);
const CLOSE = '}'.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
const NINE = '9'.charCodeAt(0);

/**
 * The buckets of every step, where several rows fall into one added up. The rows are read number by number: a plot of a
 * month has thousands, and to make a text of each took longer than the statement.
 */
function merged(rows: string | null, places: readonly number[], length: number): BucketCounts[] {
  const steps = Array.from({ length }, (): number[] => []);
  let row = 0;
  let bucket = 0;
  let n = 0;
  for (let index = 0; index < (rows?.length ?? 0); index++) {
    const code = rows!.charCodeAt(index);
    if (code >= ZERO && code <= NINE) {
      n = n * 10 + (code - ZERO);
    } else if (code === COMMA || code === CLOSE) {
      const counts = steps[places[row]!]!;
      if (bucket < counts.length) counts[bucket]! += n;
      else counts.push(n);
      n = 0;
      bucket = code === COMMA ? bucket + 1 : 0;
      if (code === CLOSE) row++;
    }
  }
  return steps;
}

/** To the tenth of a millisecond. */
const rounded = (seconds: number | null): number | null =>
  seconds === null ? null : Math.round(seconds * 10_000) / 10_000;
