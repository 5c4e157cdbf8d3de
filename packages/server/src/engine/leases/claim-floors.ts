import type { LaneNews } from '../../store/notifications.js';

/**
 * Claim floors: where in each lane (a priority of a queue) the next claim may start.
 *
 * A claim walks an index whose first entries are jobs that were claimed a moment ago and not yet vacuumed away. Under load, or while some
 * session holds an old snapshot, that walk grows without bound. So each lane remembers the instant it last claimed, and starts there.
 *
 * The price is order: a job that another process put behind the floor waits until somebody looks there. Nearly always such a job was created
 * together with those that were claimed and committed a little later, so every few claims one starts a margin before the floor. Now and then
 * one is exact; an exact one is the more seldom the longer it takes, so that it stays a small part of the time. Floors are used only while
 * exact claims are measurably slow, and never when the result comes short; and a job behind the floor that this process hears of lowers it.
 * Nothing is ever skipped for good.
 */
const SLOW_MS = 4;
const MARGIN_MS = 100;
const MARGIN_EVERY_MS = 50;
const EXACT_EVERY_MS = { least: 1_000, most: 5_000 };
/** An exact claim is followed by so many times its own duration without one. */
const EXACT_REST = 25;

export interface Floors {
  readonly priorities: readonly number[];
  /** RFC 3339, one a priority. */
  readonly since: readonly string[];
}

/** Kept only for queues whose exact claims are slow: for all others there is nothing to remember. */
interface SlowQueue {
  readonly floors: Map<number, number>;
  exactAt: number;
  marginAt: number;
}

const LOWEST = 0;

export class ClaimFloors {
  readonly #slow = new Map<string, SlowQueue>();

  /** `now` is any monotonic clock in milliseconds. Null: claim exactly. */
  floorsFor(queue: string, now: number): Floors | null {
    const lanes = this.#slow.get(queue);
    if (!lanes || lanes.floors.size === 0 || now >= lanes.exactAt) return null;
    const margin = now >= lanes.marginAt ? MARGIN_MS : 0;
    if (margin > 0) lanes.marginAt = now + MARGIN_EVERY_MS;
    const sorted = [...lanes.floors].sort(([a], [b]) => b - a);
    return {
      priorities: sorted.map(([priority]) => priority),
      since: sorted.map(([, floor]) => new Date(Math.max(LOWEST, floor - margin)).toISOString()),
    };
  }

  exactClaimTook(queue: string, now: number, ms: number): void {
    if (ms <= SLOW_MS) return void this.#slow.delete(queue);
    const exactAt = now + Math.min(Math.max(ms * EXACT_REST, EXACT_EVERY_MS.least), EXACT_EVERY_MS.most);
    const lanes = this.#slow.get(queue);
    if (lanes) lanes.exactAt = exactAt;
    else this.#slow.set(queue, { floors: new Map(), exactAt, marginAt: now + MARGIN_EVERY_MS });
  }

  /** The last job claimed from a lane was scheduled at this instant (milliseconds since 1970). */
  claimedUpTo(queue: string, priority: number, scheduledAt: number): void {
    const floors = this.#slow.get(queue)?.floors;
    floors?.set(priority, Math.max(floors.get(priority) ?? LOWEST, scheduledAt));
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
