import type { CronFiringKind } from '@millrace/contract';
import { decideFiring, look, type Look } from '../domain/cron-firing.js';
import { bucketOf, idSuffix } from '../domain/ids.js';
import { float8Array, plainArray, textArray, uuidArray } from '../store/arrays.js';
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
const sql = loadStatements('cron.sql', ['cron_agenda', 'fire_crons']);

/** Schedules in one round, and in one statement of it: large enough to be few, small enough that nobody waits long for one. */
const ROUND = 1_000;
const STATEMENT = 250;
const IN_FLIGHT = 2;
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
  /** Until the next schedule is due, as of the look; negative when one is. Null: no schedule waits for anything. */
  readonly waitMs: number | null;
}

interface Agenda {
  readonly now_ms: number;
  readonly wait_ms: number | null;
  readonly due: string | null;
}

type Due = [tenant: string, id: string, expr: string, occurrenceMs: number];

interface FiredRow {
  readonly tenant: string;
  readonly queue: string;
  readonly priority: number;
  readonly kind: CronFiringKind;
  readonly enqueued: boolean;
  readonly lag_secs: number;
}

export class CronFirer {
  #lastLook: Look | null = null;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
  ) {}

  async fireDue(): Promise<Round> {
    const [agenda] = await this.db.run<Agenda>(sql.cron_agenda, [ROUND]);
    if (!agenda) throw new Error('the agenda is always one row');
    const seen = (this.#lastLook = look(this.#lastLook, agenda.now_ms));
    const due = agenda.due === null ? [] : (JSON.parse(agenda.due) as Due[]);
    return { due: due.length, fired: await this.#fireAll(due, seen), waitMs: agenda.wait_ms };
  }

  /** A few statements at a time. Each is decided when its turn comes, so that a large round does not keep the process from everything else. */
  async #fireAll(due: readonly Due[], seen: Look): Promise<number> {
    let next = 0;
    let fired = 0;
    const lane = async (): Promise<void> => {
      while (next < due.length) {
        const some = due.slice(next, (next += STATEMENT));
        const n = await this.#fire(some, seen);
        fired += n;
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    return fired;
  }

  async #fire(due: readonly Due[], seen: Look): Promise<number> {
    const decisions = due.map(([, , expr, occurrenceMs]) => decideFiring(expr, occurrenceMs, seen));
    const rows = await this.db.run<FiredRow>(sql.fire_crons, [
      textArray(due.map(([tenant]) => tenant)),
      uuidArray(due.map(([, id]) => id)),
      float8Array(due.map(([, , , occurrenceMs]) => occurrenceMs)),
      float8Array(decisions.map(({ next }) => next)),
      plainArray(decisions.map(({ kind }) => kind)),
      textArray(due.map(([tenant], position) => idSuffix(position, bucketOf(tenant), random32()))),
      seen.nowMs,
      DECISION_HOLDS_MS,
      REMEMBERED_FIRINGS,
    ]);
    this.#announce(rows.filter((row) => row.enqueued));
    return rows.length;
  }

  #announce(fired: readonly FiredRow[]): void {
    const lanes = new Map(fired.map(({ queue, priority }) => [`${priority} ${queue}`, { queue, priority }]));
    for (const { queue, priority } of lanes.values()) this.hub.announceWork(queue, priority, null);
    for (const { tenant, kind, lag_secs } of fired) {
      this.ledger.created(tenant, 1);
      this.ledger.metrics.cronFired(kind, lag_secs);
    }
  }
}
