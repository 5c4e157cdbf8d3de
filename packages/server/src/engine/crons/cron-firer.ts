import { setImmediate as nextTurn } from 'node:timers/promises';
import { CRON_FIRINGS_KEPT, type CronFiringKind } from '@millrace/contract';
import { UnreadableCron } from '../../domain/cron-expression.js';
import { decideFiring, LATE_MS, tick, type FiringDecision, type SchedulerTick } from '../../domain/cron-firing.js';
import { MillraceError } from '../../domain/errors.js';
import { bucketOf, idSuffix } from '../../domain/ids.js';
import { float8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { random32 } from '../shared/random.js';
import type { Due } from './due.js';
import type { WorkflowFirings } from './workflow-firings.js';

/**
 * Fires the schedules that are due. Any number of processes do this at once, and all that a process keeps between two
 * statements is a plan: a few seconds ahead and without locks, it reads what will be due and computes the occurrence
 * after it, so that at the instant itself nothing is left to do but fire. Firing takes one statement per batch, which
 * acts only on schedules that are due and have not moved since they were read. A process that is stopped, killed or cut
 * off in between has fired either all of a batch or none of it. Schedules that start workflows take a transaction per
 * batch (workflow-firings.ts).
 */
const sql = { ...loadStatements('crons/crons.sql'), ...loadStatements('crons/firing.sql') };

/** Schedules per look and per statement: large enough to need few, small enough that none takes long. */
const LOOK = 10_000;
const BATCH = 250;
/** The same of those that start workflows: each may be as large as a payload. */
const START_BATCH = 16;
/** How long before its instant an occurrence is planned. Compiling ten thousand new expressions takes two seconds. */
export const LEAD_MS = 3_000;
/** A scheduler looks at least this often, so that it notices a clock that is set forward. */
export const LOOK_EVERY_MS = 5_000;

/**
 * A process may be stopped between reading and firing, for any length of time. What it had decided (late or missed, and
 * which occurrence is next) may then no longer be true, so it reads again. Occurrences planned ahead are decided to be
 * on time, which holds until they would count as missed.
 */
const DECISION_HOLDS_MS = LEAD_MS + LATE_MS;

export interface Round {
  /** The database's time at the end of the round. */
  readonly nowMs: number;
  /** How many schedules were due, at most LOOK. */
  readonly due: number;
  /** How many of them this process advanced. */
  readonly fired: number;
  readonly broken: readonly BrokenCron[];
  /** From then until the next schedule is due. Null: no schedule is enabled. */
  readonly waitMs: number | null;
}

/** A schedule that could not be fired through its own fault. The others of its round were. */
export interface BrokenCron {
  readonly id: string;
  readonly error: unknown;
  /** True if trying again is pointless. Otherwise it stays due: the database may accept it later. */
  readonly paused: boolean;
}

interface Agenda {
  readonly now_ms: number;
  readonly wait_ms: number | null;
  readonly near: string | null;
}

type NearRow = [
  tenant: string,
  id: string,
  revision: number,
  expr: string,
  timezone: string,
  occurrenceMs: number,
  isStart: boolean,
];

/** What a look found, in order of occurrence. */
interface Outlook {
  readonly planned: readonly Due[];
  readonly broken: readonly BrokenCron[];
  /** The first occurrence that was not due. Null: there is none. */
  readonly nextMs: number | null;
  /** The database's time now, estimated from the time that has passed here since the look. Never ahead of it. */
  readonly nowMs: () => number;
}

interface FiredRow {
  readonly id: string;
  readonly tenant: string;
  readonly queue: string;
  readonly task: string;
  readonly priority: number;
  readonly kind: CronFiringKind;
  readonly enqueued: boolean;
  readonly lag_secs: number;
  /** The limit in whose line its job waits, if it has any. */
  readonly waits_for: string | null;
}

export class CronFirer {
  #lastTick: SchedulerTick | null = null;
  /** When this process intended to act again, on its own monotonic clock. */
  #intendedAt = 0;
  /** The plan for what was not due yet at the last look, if there was anything. */
  #ahead: Outlook | null = null;
  /** Resolves to whether this process advanced the schedule. One that fails through its own fault fails alone. */
  readonly #firings = new Batcher<Due, boolean>((due) => this.#fire(due), {
    maxItems: BATCH,
    inFlight: 2,
    maxWaiting: LOOK,
  });
  readonly #starts = new Batcher<Due, boolean>((due) => this.#start(due), {
    maxItems: START_BATCH,
    inFlight: 2,
    maxWaiting: LOOK,
  });

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly workflows: WorkflowFirings,
  ) {}

  /** Fires by plan if what is due has been planned; otherwise looks first. */
  async fireDue(): Promise<Round> {
    const ahead = this.#ahead;
    this.#ahead = null;
    const [first] = ahead?.planned ?? [];
    if (ahead && first && first.occurrenceMs <= ahead.nowMs()) return this.#fireFrom({ ...ahead, broken: [] });
    const outlook = await this.#look();
    const round = await this.#fireFrom(outlook);
    if (round.due === 0) this.#ahead = outlook;
    return round;
  }

  async #fireFrom({ planned, broken, nextMs, nowMs: clock }: Outlook): Promise<Round> {
    const startMs = clock();
    const later = planned.findIndex(({ occurrenceMs }) => occurrenceMs > startMs);
    const due = shareOut(later < 0 ? planned : planned.slice(0, later));
    const results = await Promise.allSettled(
      due.map((each) => (each.isStart ? this.#starts : this.#firings).submit(each)),
    );
    const fired = results.filter((result) => result.status === 'fulfilled' && result.value).length;
    const refused = refusedOf(due, results);
    const nowMs = clock();
    const waitMs = nextMs === null ? null : nextMs - nowMs;
    return { nowMs, due: due.length, fired, broken: [...broken, ...refused], waitMs };
  }

  async #look(): Promise<Outlook> {
    const [agenda] = await this.db.run<Agenda>(sql.cron_agenda({ lead_ms: LEAD_MS, max_crons: LOOK }));
    if (!agenda) throw new Error('cron_agenda returned no row');
    const { now_ms, wait_ms, near } = agenda;
    const readAt = performance.now();
    const seen = (this.#lastTick = tick(this.#lastTick, now_ms, readAt - this.#intendedAt));
    this.#intendedAt = readAt + Math.min(wait_ms ?? LOOK_EVERY_MS, LOOK_EVERY_MS);
    const rows = near === null ? [] : (JSON.parse(near) as NearRow[]);
    const { planned, broken } = await this.#plan(rows, seen);
    const nextMs = wait_ms === null ? null : now_ms + wait_ms;
    return { planned, broken, nextMs, nowMs: () => now_ms + performance.now() - readAt };
  }

  /**
   * In slices, because thousands of expressions would keep other work waiting. Many schedules share an expression, so
   * decisions are cached.
   */
  async #plan(rows: readonly NearRow[], seen: SchedulerTick): Promise<{ planned: Due[]; broken: BrokenCron[] }> {
    const planned: Due[] = [];
    const broken: BrokenCron[] = [];
    const known = new Map<string, FiringDecision>();
    for (const [n, [tenant, id, revision, expr, timezone, occurrenceMs, isStart]] of rows.entries()) {
      if (n % BATCH === BATCH - 1) await nextTurn();
      try {
        const key = `${occurrenceMs} ${timezone} ${expr}`;
        const decision = known.get(key) ?? decideFiring({ expr, timezone }, occurrenceMs, seen);
        known.set(key, decision);
        planned.push({ ...decision, tenant, id, revision, occurrenceMs, decidedMs: seen.nowMs, isStart });
      } catch (error) {
        if (!(error instanceof UnreadableCron)) throw error;
        await this.db.run(sql.pause_cron({ tenant, id, revision }));
        broken.push({ id, error, paused: true });
      }
    }
    return { planned, broken };
  }

  async #fire(due: readonly Due[]): Promise<boolean[]> {
    const rows = await this.db.run<FiredRow>(
      sql.fire_crons({
        tenants: textArray(due.map(({ tenant }) => tenant)),
        ids: uuidArray(due.map(({ id }) => id)),
        occurrences_ms: float8Array(due.map(({ occurrenceMs }) => occurrenceMs)),
        followings_ms: float8Array(due.map(({ next }) => next)),
        kinds: plainArray(due.map(({ kind }) => kind)),
        suffixes: textArray(due.map(({ tenant }, position) => idSuffix(position, bucketOf(tenant), random32()))),
        planned_at_ms: Math.min(...due.map(({ decidedMs }) => decidedMs)),
        valid_ms: DECISION_HOLDS_MS,
        slots: CRON_FIRINGS_KEPT,
        revisions: plainArray(due.map(({ revision }) => String(revision))),
      }),
    );
    this.#intendedAt = performance.now();
    this.#announce(rows.filter((row) => row.enqueued));
    const fired = new Set(rows.map((row) => row.id));
    return due.map(({ id }) => fired.has(id));
  }

  async #start(due: readonly Due[]): Promise<boolean[]> {
    const { advanced, firings } = await this.workflows.fire(due, DECISION_HOLDS_MS);
    this.#intendedAt = performance.now();
    for (const { kind, lagSecs } of firings) this.counters.metrics.cronFired(kind, lagSecs);
    return due.map(({ id }) => advanced.has(id));
  }

  #announce(fired: readonly FiredRow[]): void {
    const limits = fired.flatMap(({ waits_for: limit }) => (limit === null ? [] : [limit]));
    this.hub.announceLimits({ limits, slept: false });
    const added = new Map(fired.map(({ queue, priority }) => [`${priority} ${queue}`, { queue, priority }]));
    for (const { queue, priority } of added.values()) this.hub.announceWork(queue, priority, null);
    for (const { tenant, queue, task, kind, lag_secs } of fired) {
      this.counters.created({ tenant, queue, task });
      this.counters.metrics.cronFired(kind, lag_secs);
    }
  }
}

/** Schedulers that start at different positions of a long list collide less often. */
function shareOut(due: readonly Due[]): readonly Due[] {
  const start = BATCH * Math.floor(Math.random() * Math.ceil(due.length / BATCH));
  return [...due.slice(start), ...due.slice(0, start)];
}

/** What the database rejected. If it could not be reached, that is no schedule's fault, and the whole round failed. */
function refusedOf(due: readonly Due[], results: readonly PromiseSettledResult<boolean>[]): BrokenCron[] {
  return results.flatMap((result, n) => {
    if (result.status === 'fulfilled') return [];
    if (result.reason instanceof MillraceError) throw result.reason;
    return [{ id: due[n]?.id ?? '', error: result.reason as unknown, paused: false }];
  });
}
