import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CronFiringKind } from '@millrace/contract';
import { UnreadableCron } from '../../domain/cron-expression.js';
import { decideFiring, LATE_MS, look, type FiringDecision, type Look } from '../../domain/cron-firing.js';
import { MillraceError } from '../../domain/errors.js';
import { bucketOf, idSuffix } from '../../domain/ids.js';
import { float8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { random32 } from '../shared/random.js';

/**
 * Fires what is due. Any number of processes do this at once, and what one keeps between two statements is only a plan: it reads, a few
 * seconds ahead and without locks, what will be due, and computes what comes after it, so that at the instant itself nothing is left to do
 * but to fire. Firing is one statement a batch that acts only on schedules that are due and still stand where they were read. A process that is
 * stopped, killed or cut off in between has either fired all of a batch or none of it.
 */
const sql = loadStatements('cron.sql', ['cron_agenda', 'fire_crons', 'pause_cron']);

/** Schedules in one look, and in one statement: large enough to be few, small enough that nobody waits long for one. */
const LOOK = 10_000;
const BATCH = 250;
/** How long before its instant an occurrence is planned. Ten thousand expressions never seen before take two seconds to compile. */
export const LEAD_MS = 3_000;
/** A scheduler looks at least this often: a clock that is set forward is noticed by then. */
export const LOOK_EVERY_MS = 5_000;
/** How many firings of a schedule are remembered. */
export const REMEMBERED_FIRINGS = 1_000;
/**
 * A process may be stopped between reading and firing, for any time. What it decided then (late or missed, and which occurrence is next) is
 * no longer true afterwards: it reads again. On time is what is decided ahead, and that holds until it would be missed.
 */
const DECISION_HOLDS_MS = LEAD_MS + LATE_MS;

export interface Round {
  /** The database's instant at the end of the round. */
  readonly nowMs: number;
  /** Schedules that were due, at most LOOK of them. */
  readonly due: number;
  /** How many of them this process advanced. */
  readonly fired: number;
  readonly broken: readonly BrokenCron[];
  /** From then until the next schedule is due. Null: no schedule waits for anything. */
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
  readonly near: string | null;
}

type NearRow = [tenant: string, id: string, revision: number, expr: string, timezone: string, occurrenceMs: number];

interface Due extends FiringDecision {
  readonly tenant: string;
  readonly id: string;
  /** Of the schedule as it was read: once it is replaced, the decision is void. */
  readonly revision: number;
  readonly occurrenceMs: number;
  /** When it was decided. */
  readonly decidedMs: number;
}

/** What a look found, in the order of the occurrences. */
interface Outlook {
  readonly planned: readonly Due[];
  readonly broken: readonly BrokenCron[];
  /** The first occurrence that was not due. Null: there is none. */
  readonly nextMs: number | null;
  /** The database's instant now, as far as the time that has passed here since the look can tell. Never ahead of it. */
  readonly nowMs: () => number;
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
  /** By when this process meant to do something again, on its own steady clock. */
  #meantAt = 0;
  /** The plan for what is not due yet, if the last look found any. */
  #ahead: Outlook | null = null;
  /** Resolves to whether the schedule was advanced here. A schedule that fails by its own fault fails alone. */
  readonly #firings = new Batcher<Due, boolean>((due) => this.#fire(due), {
    maxItems: BATCH,
    inFlight: 2,
    maxWaiting: LOOK,
  });

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {}

  /** By plan, where what is due has been planned; otherwise it looks first. */
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
    const ends = await Promise.allSettled(due.map((each) => this.#firings.submit(each)));
    const fired = ends.filter((end) => end.status === 'fulfilled' && end.value).length;
    const refused = refusedOf(due, ends);
    const nowMs = clock();
    const waitMs = nextMs === null ? null : nextMs - nowMs;
    return { nowMs, due: due.length, fired, broken: [...broken, ...refused], waitMs };
  }

  async #look(): Promise<Outlook> {
    const [agenda] = await this.db.run<Agenda>(sql.cron_agenda, [LEAD_MS, LOOK]);
    if (!agenda) throw new Error('the agenda is always one row');
    const { now_ms, wait_ms, near } = agenda;
    const readAt = performance.now();
    const seen = (this.#lastLook = look(this.#lastLook, now_ms, readAt - this.#meantAt));
    this.#meantAt = readAt + Math.min(wait_ms ?? LOOK_EVERY_MS, LOOK_EVERY_MS);
    const rows = near === null ? [] : (JSON.parse(near) as NearRow[]);
    const { planned, broken } = await this.#plan(rows, seen);
    const nextMs = wait_ms === null ? null : now_ms + wait_ms;
    return { planned, broken, nextMs, nowMs: () => now_ms + performance.now() - readAt };
  }

  /** In slices, since other work waits: thousands of expressions can keep a process busy for a while. Many schedules share an expression. */
  async #plan(rows: readonly NearRow[], seen: Look): Promise<{ planned: Due[]; broken: BrokenCron[] }> {
    const planned: Due[] = [];
    const broken: BrokenCron[] = [];
    const known = new Map<string, FiringDecision>();
    for (const [n, [tenant, id, revision, expr, timezone, occurrenceMs]] of rows.entries()) {
      if (n % BATCH === BATCH - 1) await nextTurn();
      try {
        const key = `${occurrenceMs} ${timezone} ${expr}`;
        const decision = known.get(key) ?? decideFiring({ expr, timezone }, occurrenceMs, seen);
        known.set(key, decision);
        planned.push({ ...decision, tenant, id, revision, occurrenceMs, decidedMs: seen.nowMs });
      } catch (error) {
        if (!(error instanceof UnreadableCron)) throw error;
        await this.db.run(sql.pause_cron, [tenant, id, revision]);
        broken.push({ id, error, paused: true });
      }
    }
    return { planned, broken };
  }

  async #fire(due: readonly Due[]): Promise<boolean[]> {
    const rows = await this.db.run<FiredRow>(sql.fire_crons, [
      textArray(due.map(({ tenant }) => tenant)),
      uuidArray(due.map(({ id }) => id)),
      float8Array(due.map(({ occurrenceMs }) => occurrenceMs)),
      float8Array(due.map(({ next }) => next)),
      plainArray(due.map(({ kind }) => kind)),
      textArray(due.map(({ tenant }, position) => idSuffix(position, bucketOf(tenant), random32()))),
      Math.min(...due.map(({ decidedMs }) => decidedMs)),
      DECISION_HOLDS_MS,
      REMEMBERED_FIRINGS,
      plainArray(due.map(({ revision }) => String(revision))),
    ]);
    this.#meantAt = performance.now();
    this.#announce(rows.filter((row) => row.enqueued));
    const fired = new Set(rows.map((row) => row.id));
    return due.map(({ id }) => fired.has(id));
  }

  #announce(fired: readonly FiredRow[]): void {
    const lanes = new Map(fired.map(({ queue, priority }) => [`${priority} ${queue}`, { queue, priority }]));
    for (const { queue, priority } of lanes.values()) this.hub.announceWork(queue, priority, null);
    for (const { tenant, kind, lag_secs } of fired) {
      this.counters.created(tenant, 1);
      this.counters.metrics.cronFired(kind, lag_secs);
    }
  }
}

/** Schedulers that begin at different places of a long list meet less often. */
function shareOut(due: readonly Due[]): readonly Due[] {
  const start = BATCH * Math.floor(Math.random() * Math.ceil(due.length / BATCH));
  return [...due.slice(start), ...due.slice(0, start)];
}

/** What the database would not take. A database out of reach is nobody's fault: then the whole round failed. */
function refusedOf(due: readonly Due[], ends: readonly PromiseSettledResult<boolean>[]): BrokenCron[] {
  return ends.flatMap((end, n) => {
    if (end.status === 'fulfilled') return [];
    if (end.reason instanceof MillraceError) throw end.reason;
    return [{ id: due[n]?.id ?? '', error: end.reason as unknown, paused: false }];
  });
}
