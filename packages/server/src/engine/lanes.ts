import type { LaneNews } from '../store/bulletin.js';

/**
 * Claim floors: where in each lane (a priority of a queue) the next claim may start.
 *
 * A claim walks an index whose first entries are jobs that were claimed a moment ago and not yet vacuumed away. Under load, or while some
 * session holds an old snapshot, that walk grows without bound. So each lane remembers the instant it last
 * claimed, less a margin, and starts there.
 *
 * The price is order: a job that another process put behind the floor waits for the next exact claim. Therefore floors are used
 * only while an exact claim is measurably slow, at most for EXACT_EVERY_MS on end, never when the result comes short; and
 * a job behind the floor that this process hears of lowers the floor. Nothing is ever skipped for good.
 */
const MARGIN_MS = 500;
const EXACT_EVERY_MS = 1_000;
const SLOW_MS = 4;

export interface Floors {
  readonly priorities: readonly number[];
  /** RFC 3339, one a priority. */
  readonly since: readonly string[];
}

/** Kept only for queues whose exact claims are slow: for all others there is nothing to remember. */
interface SlowQueue {
  readonly floors: Map<number, number>;
  lastExactAt: number;
}

const LOWEST = 0;

export class Lanes {
  readonly #slow = new Map<string, SlowQueue>();

  /** `now` is any monotonic clock in milliseconds. Null: claim exactly. */
  floorsFor(queue: string, now: number): Floors | null {
    const lanes = this.#slow.get(queue);
    if (!lanes || lanes.floors.size === 0 || now - lanes.lastExactAt >= EXACT_EVERY_MS) return null;
    const sorted = [...lanes.floors].sort(([a], [b]) => b - a);
    return {
      priorities: sorted.map(([priority]) => priority),
      since: sorted.map(([, floor]) => new Date(floor).toISOString()),
    };
  }

  exactClaimTook(queue: string, now: number, ms: number): void {
    const lanes = this.#slow.get(queue);
    if (ms <= SLOW_MS) this.#slow.delete(queue);
    else if (lanes) lanes.lastExactAt = now;
    else this.#slow.set(queue, { floors: new Map(), lastExactAt: now });
  }

  /** The last job claimed from a lane was scheduled at this instant (milliseconds since 1970). */
  claimedUpTo(queue: string, priority: number, scheduledAt: number): void {
    const floors = this.#slow.get(queue)?.floors;
    floors?.set(priority, Math.max(floors.get(priority) ?? LOWEST, scheduledAt - MARGIN_MS));
  }

  heard(queue: string, news: readonly LaneNews[]): void {
    const floors = this.#slow.get(queue)?.floors;
    if (!floors) return;
    // Without lanes the news did not fit its message: look everywhere.
    if (news.length === 0) this.#slow.delete(queue);
    for (const { priority, since } of news) {
      const floor = floors.get(priority);
      if (floor === undefined) floors.set(priority, LOWEST);
      else if (since !== null && since < floor) floors.set(priority, since);
    }
  }
}
