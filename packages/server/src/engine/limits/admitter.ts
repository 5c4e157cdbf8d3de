import { admit, type AdmitResult, type Line, type Room } from '../../domain/limits.js';
import { STEP_SECS } from '../../domain/rates.js';
import { boolArray, int4Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { listIn } from '../../store/rows.js';
import { announceAdmitted, type AdmittedJobs } from '../shared/admitted-jobs.js';
import type { EngineMetrics } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import { countIn, type Where } from './counting-in.js';
import { LimitTimers } from './limit-timers.js';
import { tokenBucketOf, giveBack, keepRates, type RateRow } from './rated.js';
import { dropEnded, FIRST_ID } from './unique.js';

/**
 * Lets jobs out of the lines of their limits as room becomes free. Whoever gives room back tells the hub, after the
 * commit; the look that follows is a transaction of its own. What is to be looked at is also written down (a note), so
 * that a process that dies in between loses nothing: a sweep of any process finds it.
 *
 * Invariant: nobody waits in the line of a limit that has room, unless there is a note about it, or room was returned
 * that a sweep will make notes of. Where only a token is missing, the limit says when to look next.
 */
const sql = loadStatements('limits/admit.sql');

/** How many limits one transaction holds, and how many jobs it lets out of one line. */
const MAX_LIMITS = 200;
const MAX_JOBS = 100;
/** Others hold a limit for a few milliseconds, or for as long as it takes to write a thousand jobs. */
const BUSY_MS = 20;
const LONGEST_BUSY_MS = 160;
/** How often a limit that somebody else holds is tried again; then the sweep takes over. */
const MAX_TRIES = 4;
/**
 * After somebody has joined an empty line it is looked at once more: whoever gave room back meanwhile may not have seen
 * him, and left a quiet note. If that is committed even later, the sweep finds it. So is a line that has run out.
 * Mostly the next create that names the limit comes before, counts in what was given back, and lets in those who wait.
 */
const SOON_MS = 100;
/** When everything is looked at again after a look that failed. */
const FAILED_MS = 1_000;
const SWEEP_JOBS = 1_000;
const SWEEP_NOTES = 1_000;
const DROP_BATCH = 1_000;

interface WaitingJob {
  readonly tenant: string;
  readonly id: string;
  readonly limits: readonly string[];
}

/** Jobs that wait for one limit and need another, by that. */
type NeededBy = ReadonlyMap<string, WaitingJob>;

interface LineRow extends RateRow {
  readonly running: number;
  readonly most: number | null;
  readonly newest: string | null;
  /** How many of the line were asked for. */
  readonly shown: number;
  /** In JSON: tenant, id and limits of each. */
  readonly heads: string | null;
}

interface MovedRow {
  readonly looks: string | null;
  /** In JSON: ids of jobs that stayed. */
  readonly missed: string | null;
  /** In JSON: queue, priority, how many, and since when the first is due. */
  readonly admitted: string | null;
}

interface Passed {
  readonly admitted: readonly AdmittedJobs[];
  /** To be looked at again: now, because there is more to let in, or in a moment, because somebody else has them. */
  readonly again: readonly string[];
  readonly busy: readonly string[];
  /** Seconds until these are to be looked at. */
  readonly later: ReadonlyMap<string, number>;
}

export interface SweptLimits {
  /** How many jobs fell due and joined their lines. */
  readonly woken: number;
  /** Milliseconds until the next one does; null: none sleeps. */
  readonly nextMs: number | null;
  /** Whether anything is limited. */
  readonly inUse: boolean;
  /** Whether jobs have expired. */
  readonly expired: boolean;
  /** Whether there are unique jobs. */
  readonly uniqueUsed: boolean;
  /** Whether an operator has set limits for queues. */
  readonly queuesLimited: boolean;
}

interface SweptRow {
  readonly woken: number;
  readonly limits: string | null;
  readonly noted: string | null;
  readonly noted_last: string | null;
  readonly next_ms: number | null;
  readonly in_use: boolean;
  readonly expired: boolean;
  readonly uncounted: boolean;
  readonly unique_used: boolean;
  readonly queues_limited: boolean;
}

export class Admitter {
  /** Limits to look at, with how often they were found busy. */
  readonly #wanted = new Map<string, number>();
  #looking: Promise<void> | null = null;
  readonly #timers = new LimitTimers((limits) => this.#want(limits));
  #noteAfter = FIRST_ID;
  #dropAfter = FIRST_ID;
  #uniqueAfter = FIRST_ID;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly metrics: EngineMetrics,
  ) {
    hub.onLimits(({ limits, done, soon = [] }) => {
      if (done) for (const id of done.limits) this.#timers.forget(id, done.since + SOON_MS);
      this.#want(limits);
      for (const id of soon) this.#timers.set(id, SOON_MS);
    });
  }

  /** From here on it looks only where it is told to. */
  async stop(): Promise<void> {
    this.#timers.stop();
    await this.settled();
  }

  /** Resolves when everything that was to be looked at has been. */
  async settled(): Promise<void> {
    while (this.#looking) await this.#looking;
  }

  /**
   * Wakes jobs that have fallen due, and has all limits looked at about which there are notes. It does not wait for
   * that: where there is much to do, those that fall due meanwhile come first.
   */
  async sweep(): Promise<SweptLimits> {
    const bounds = { after: this.#noteAfter, max_jobs: SWEEP_JOBS, max_notes: SWEEP_NOTES };
    const [row] = await this.db.run<SweptRow>(sql.wake_sleepers(bounds));
    const hasMore = row?.woken === SWEEP_JOBS || (row?.noted_last ?? null) !== null;
    this.#noteAfter = row?.noted_last ?? FIRST_ID;
    const limits = [...listIn<string>(row?.limits ?? null), ...listIn<string>(row?.noted ?? null)];
    this.#want(limits);
    if (row?.uncounted) await this.#countIn('where somebody waits');
    return {
      woken: row?.woken ?? 0,
      nextMs: hasMore ? 0 : (row?.next_ms ?? null),
      inUse: row?.in_use ?? false,
      expired: row?.expired ?? false,
      uniqueUsed: row?.unique_used ?? false,
      queuesLimited: row?.queues_limited ?? false,
    };
  }

  /** Removes limits that nobody uses, once all that was given back is counted in: a part of them each time. */
  async dropUnused(): Promise<number> {
    await this.#countIn('everywhere');
    const [row] = await this.db.run<{ dropped: number; last: string | null; walked: number }>(
      sql.drop_unused({ after: this.#dropAfter, max_limits: DROP_BATCH }),
    );
    this.#dropAfter = row?.walked === DROP_BATCH ? row.last! : FIRST_ID;
    return row?.dropped ?? 0;
  }

  /** Removes the unique keys of jobs that have ended: a part of them each time. */
  async dropEndedUnique(): Promise<void> {
    this.#uniqueAfter = await dropEnded(this.db.run, this.#uniqueAfter);
  }

  #countIn(where: Where): Promise<void> {
    return countIn(this.db.run, where, (limits) => this.#want(limits));
  }

  #want(limits: readonly string[]): void {
    for (const id of limits) this.#wanted.set(id, 0);
    if (this.#wanted.size > 0) this.#looking ??= this.#look().finally(() => (this.#looking = null));
  }

  /**
   * Fails silently: the sweep reports what is wrong. Everything that was wanted is looked at a moment later: there are
   * notes about most of it, but none about who was claimed under a rate.
   */
  async #look(): Promise<void> {
    while (this.#wanted.size > 0) {
      const tries = new Map([...this.#wanted].slice(0, MAX_LIMITS));
      for (const id of tries.keys()) this.#wanted.delete(id);
      const passed = await this.#pass([...tries.keys()]).catch(() => null);
      if (passed === null) {
        for (const id of [...tries.keys(), ...this.#wanted.keys()]) this.#timers.set(id, FAILED_MS);
        return this.#wanted.clear();
      }
      announceAdmitted(this.hub, this.metrics, passed.admitted);
      for (const id of passed.again) this.#wanted.set(id, 0);
      for (const [id, secs] of passed.later) this.#timers.set(id, secs * 1000);
      const busy = passed.busy.filter((id) => (tries.get(id) ?? 0) < MAX_TRIES && !this.#wanted.has(id));
      const tried = Math.max(0, ...busy.map((id) => tries.get(id) ?? 0));
      if (busy.length > 0 && this.#wanted.size === 0) await pause(Math.min(BUSY_MS * 2 ** tried, LONGEST_BUSY_MS));
      for (const id of busy) this.#wanted.set(id, (tries.get(id) ?? 0) + 1);
    }
  }

  async #pass(wanted: readonly string[]): Promise<Passed> {
    let ids = wanted;
    let neededBy: NeededBy = new Map();
    for (;;) {
      const [asked, by] = [ids, neededBy];
      const { passed, missing } = await this.db.transaction((execute) => this.#admit(execute, asked, by));
      const more = [...missing.keys()].filter((id) => !asked.includes(id));
      // Whoever is in front needs other limits as well: all of them are held together, or none of its jobs moves.
      if (passed.admitted.length > 0) return passed;
      if (missing.size > 0 && more.length === 0)
        return { ...passed, again: [], busy: [...passed.busy, ...passed.again] };
      if (more.length === 0) return passed;
      ids = [...asked, ...more];
      neededBy = missing;
    }
  }

  async #admit(
    execute: Execute,
    ids: readonly string[],
    neededBy: NeededBy,
  ): Promise<{ passed: Passed; missing: NeededBy }> {
    const { held, gone } = await lockLimits(execute, ids, neededBy);
    const busy = ids.filter((id) => !held.has(id) && !gone.has(id));
    if (held.size === 0) return { passed: { admitted: [], again: [], busy, later: new Map() }, missing: new Map() };
    const rows = await execute<LineRow>(
      sql.read_lines({ ids: uuidArray([...held]), max_jobs: MAX_JOBS, step_secs: STEP_SECS }),
    );
    const rooms = new Map(rows.map((row) => [row.id, toRoom(row)]));
    const admission = admit(rows.map(toLine), rooms);
    const [moved] = await execute<MovedRow>(sql.move_waiting(moveColumns(rows, rooms, admission)));
    const missed = new Set(listIn<string>(moved?.missed ?? null));
    const moves = admission.moves.filter(({ to }) => to === null).map(({ job }) => job);
    for (const job of moves) if (missed.has(job.id)) giveBack(rooms, job);
    const later = new Map(
      await keepRates(
        execute,
        rows,
        rooms,
        moves.filter(({ id }) => !missed.has(id)),
      ),
    );
    const joined = rows.filter(({ id, waited }) => !waited && rooms.get(id)!.waiting);
    for (const { id } of joined) later.set(id, Math.min(later.get(id) ?? Infinity, SOON_MS / 1000));
    const again = listIn<string>(moved?.looks ?? null);
    const admitted = listIn<AdmittedJobs>(moved?.admitted ?? null);
    return { passed: { admitted, again, busy, later }, missing: admission.missing };
  }
}

interface LockedLimits {
  readonly held: ReadonlySet<string>;
  /** Those that do not exist, and that no job needs. */
  readonly gone: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();

/** Those that this transaction holds now. Limits that are gone, but that a job names, are made again. */
export async function lockLimits(
  execute: Execute,
  ids: readonly string[],
  neededBy: NeededBy = new Map(),
): Promise<LockedLimits> {
  const known = await execute<{ id: string; held: boolean }>(sql.lock_limits({ ids: uuidArray(ids) }));
  const held = new Set(known.flatMap(({ id, held }) => (held ? [id] : [])));
  const exists = new Set(known.map(({ id }) => id));
  const absent = ids.filter((id) => !exists.has(id));
  if (absent.length === 0) return { held, gone: NONE };
  const made = await execute<{ id: string }>(
    sql.restore_limits({
      ids: uuidArray(absent),
      tenants: textArray(absent.map((id) => neededBy.get(id)?.tenant ?? null)),
      job_ids: uuidArray(absent.map((id) => neededBy.get(id)?.id ?? null)),
    }),
  );
  for (const { id } of made) held.add(id);
  const left = absent.filter((id) => !held.has(id));
  if (left.length === 0) return { held, gone: NONE };
  const gone = await execute<{ id: string }>(sql.drop_orphans({ ids: uuidArray(left) }));
  return { held, gone: new Set(gone.map(({ id }) => id)) };
}

const toRoom = (row: LineRow): Room => ({
  running: row.running,
  most: row.most ?? Infinity,
  waiting: false,
  bucket: tokenBucketOf(row),
});

function toLine({ id, shown, heads }: LineRow): Line<WaitingJob> {
  const jobs = listIn<[string, string, string[]]>(heads).map(([tenant, job, limits]) => ({ tenant, id: job, limits }));
  return { limit: id, jobs, isWhole: jobs.length < shown };
}

function moveColumns(
  rows: readonly LineRow[],
  rooms: ReadonlyMap<string, Room>,
  { moves, unfinished }: AdmitResult<WaitingJob>,
) {
  return {
    tenants: textArray(moves.map(({ job }) => job.tenant)),
    ids: uuidArray(moves.map(({ job }) => job.id)),
    places: uuidArray(moves.map(({ to }) => to)),
    lines: uuidArray(moves.map(({ from }) => from)),
    limit_ids: uuidArray(rows.map(({ id }) => id)),
    running: int4Array(rows.map(({ running }) => running)),
    mosts: int4Array(rows.map(({ most }) => most)),
    newest: uuidArray(rows.map(({ newest }) => newest)),
    waiting: boolArray(rows.map(({ id }) => rooms.get(id)!.waiting)),
    looks: uuidArray([...unfinished]),
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
