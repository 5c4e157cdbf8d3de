import type { CronFiringKind } from '@millrace/contract';
import { UnreadableCron } from '../domain/cron-expression.js';
import { decideFiring, look, type Look } from '../domain/cron-firing.js';
import { MillraceError } from '../domain/errors.js';
import { bucketOf, idSuffix } from '../domain/ids.js';
import { float8Array, plainArray, textArray, uuidArray } from '../store/arrays.js';
import { Batcher } from '../store/batcher.js';
import type { Database } from '../store/database.js';
import { loadStatements } from '../store/sql.js';
import type { Hub } from './hub.js';
import type { Ledger } from './ledger.js';
import { random32 } from './random.js';

/**
 * Fires what is due. Any number of processes do this at once, and none keeps anything between two statements: reading what is due locks
 * nothing, and firing is one statement that acts only on schedules that still stand where they were read. A process that is
 * stopped, killed or cut off in between has either fired all of its round or none of it.
 */
const sql = loadStatements('cron.sql', ['cron_agenda', 'fire_crons', 'pause_cron']);

/** Schedules in one round, and in one statement of it: large enough to be few, small enough that nobody waits long for one. */
const ROUND = 1_000;
const BATCH = { maxItems: 250, inFlight: 2, maxWaiting: ROUND };
/** How many firings of a schedule are remembered. */
export const REMEMBERED_FIRINGS = 100;
/**
 * A process may be stopped between reading and firing, for any time. What it decided then (late or missed, and which occurrence is next) is
 * no longer true afterwards: it reads again.
 */
const DECISION_HOLDS_MS = 5_000;

export interface Round {
  /** Schedules that were due when it was looked, at most ROUND of them. */
  readonly due: number;
  /** How many of them this process advanced. */
  readonly fired: number;
  readonly broken: readonly BrokenCron[];
  /** Until the next schedule is due, as of the look; negative when one is. Null: no schedule waits for anything. */
  readonly waitMs: number | null;
}

/** A schedule that could not be fired by its own fault. The others of its round were. */
export interface BrokenCron {
  readonly id: string;
  readonly error: unknown;
  /** True where trying again is of no use. Otherwise it stays due: what the database refused today it may take tomorrow. */
  readonly paused: boolean;
}

interface Agenda {
  readonly now_ms: number;
  readonly wait_ms: number | null;
  readonly due: string | null;
}

type DueRow = [tenant: string, id: string, expr: string, occurrenceMs: number];

interface Due {
  readonly tenant: string;
  readonly id: string;
  readonly expr: string;
  readonly occurrenceMs: number;
  readonly seen: Look;
}

interface FiredRow {
  readonly id: string;
  readonly tenant: string;
  readonly queue: string;
  readonly priority: number;
  readonly kind: CronFiringKind;
  readonly enqueued: boolean;
  readonly lag_secs: number;
}

export class CronFirer {
  #lastLook: Look | null = null;
  /** Resolves to whether the schedule was advanced here. A schedule that fails by its own fault fails alone. */
  readonly #firings = new Batcher<Due, boolean>((due) => this.#fire(due), BATCH);

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
  ) {}

  async fireDue(): Promise<Round> {
    const [agenda] = await this.db.run<Agenda>(sql.cron_agenda, [ROUND]);
    if (!agenda) throw new Error('the agenda is always one row');
    const seen = (this.#lastLook = look(this.#lastLook, agenda.now_ms));
    const rows = agenda.due === null ? [] : (JSON.parse(agenda.due) as DueRow[]);
    const due = rows.map(([tenant, id, expr, occurrenceMs]) => ({ tenant, id, expr, occurrenceMs, seen }));
    const ends = await Promise.allSettled(due.map((each) => this.#firings.submit(each)));
    const broken = await this.#findBroken(due, ends);
    const fired = ends.filter((end) => end.status === 'fulfilled' && end.value).length;
    return { due: due.length, fired, broken, waitMs: agenda.wait_ms };
  }

  async #fire(due: readonly Due[]): Promise<boolean[]> {
    const decisions = due.map(({ expr, occurrenceMs, seen }) => decideFiring(expr, occurrenceMs, seen));
    const rows = await this.db.run<FiredRow>(sql.fire_crons, [
      textArray(due.map(({ tenant }) => tenant)),
      uuidArray(due.map(({ id }) => id)),
      float8Array(due.map(({ occurrenceMs }) => occurrenceMs)),
      float8Array(decisions.map(({ next }) => next)),
      plainArray(decisions.map(({ kind }) => kind)),
      textArray(due.map(({ tenant }, position) => idSuffix(position, bucketOf(tenant), random32()))),
      Math.min(...due.map(({ seen }) => seen.nowMs)),
      DECISION_HOLDS_MS,
      REMEMBERED_FIRINGS,
    ]);
    this.#announce(rows.filter((row) => row.enqueued));
    const fired = new Set(rows.map((row) => row.id));
    return due.map(({ id }) => fired.has(id));
  }

  #announce(fired: readonly FiredRow[]): void {
    const lanes = new Map(fired.map(({ queue, priority }) => [`${priority} ${queue}`, { queue, priority }]));
    for (const { queue, priority } of lanes.values()) this.hub.announceWork(queue, priority, null);
    for (const { tenant, kind, lag_secs } of fired) {
      this.ledger.created(tenant, 1);
      this.ledger.metrics.cronFired(kind, lag_secs);
    }
  }

  /** A database out of reach is nobody's fault: then the whole round failed. */
  async #findBroken(due: readonly Due[], ends: readonly PromiseSettledResult<boolean>[]): Promise<BrokenCron[]> {
    const broken: BrokenCron[] = [];
    for (const [n, end] of ends.entries()) {
      const schedule = due[n];
      if (end.status === 'fulfilled' || !schedule) continue;
      const error: unknown = end.reason;
      if (error instanceof MillraceError) throw error;
      const paused = error instanceof UnreadableCron;
      if (paused) await this.db.run(sql.pause_cron, [schedule.tenant, schedule.id]);
      broken.push({ id: schedule.id, error, paused });
    }
    return broken;
  }
}
