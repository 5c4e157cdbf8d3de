import type { PriorityNews } from '../../store/connection/notifications.js';

/**
 * Claim floors: where the next claim of a queue may start, in each of its priorities and among the jobs that were not
 * due when they were written.
 *
 * A claim walks an index whose first entries are jobs that were claimed a moment ago and not yet vacuumed away. Under
 * load, or while some session holds an old snapshot, that walk grows without bound. So each priority remembers the
 * instant up to which it was claimed, and the next claim starts there.
 *
 * The price is order: a job that another process puts behind the floor waits until a claim looks there. Nearly always
 * such a job was created together with the claimed ones and committed a little later, so every few claims one starts a
 * margin before the floor. Now and then a claim is exact; the longer exact claims take, the rarer they are, so that
 * they stay a small part of the time. Floors are used only while exact claims are measurably slow, for as many
 * priorities as one claim can look through, and never when the result comes up short; and when this process hears of a
 * job behind the floor, it lowers the floor. No job is ever skipped for good.
 */
const SLOW_MS = 4;
const MARGIN_MS = 100;
const MARGIN_EVERY_MS = 50;
const EXACT_EVERY_MS = { least: 1_000, most: 5_000 };
/** After an exact claim, there is no other for this many times its duration. */
const EXACT_REST = 25;
/** One walk per priority. On a queue with more priorities, claims are exact: one walk in all. */
const MAX_PRIORITIES = 64;
/** A job that falls due later than this is not in claim order yet, whichever clock is right. */
const SOON_MS = 5_000;
const LOWEST = 0;

export interface Floors {
  readonly priorities: readonly number[];
  /** RFC 3339, one per priority. */
  readonly since: readonly string[];
  /** The same for jobs that were not due when they were written, which are kept apart from the priorities. */
  readonly later: string;
}

/** Kept only for queues whose exact claims are slow: for all others there is nothing to remember. */
interface SlowQueue {
  readonly floors: Map<number, number>;
  later: number;
  /** Too many priorities: no floors until the next exact claim is due. */
  crowded: boolean;
  exactAt: number;
  marginAt: number;
}

export class ClaimFloors {
  readonly #slow = new Map<string, SlowQueue>();

  /** `now` is any monotonic clock in milliseconds. Null: claim exactly. */
  floorsFor(queue: string, now: number): Floors | null {
    const slow = this.#usable(queue, now);
    if (slow === null) return null;
    const margin = now >= slow.marginAt ? MARGIN_MS : 0;
    if (margin > 0) slow.marginAt = now + MARGIN_EVERY_MS;
    return startsOf(slow, margin);
  }

  /** The same for a look that claims nothing: the margin is left to claims. */
  floorsForLook(queue: string, now: number): Floors | null {
    const slow = this.#usable(queue, now);
    return slow && startsOf(slow, 0);
  }

  #usable(queue: string, now: number): SlowQueue | null {
    const slow = this.#slow.get(queue);
    return !slow || slow.crowded || slow.floors.size === 0 || now >= slow.exactAt ? null : slow;
  }

  exactClaimTook(queue: string, now: number, ms: number): void {
    if (ms <= SLOW_MS) return void this.#slow.delete(queue);
    const slow = this.#slow.get(queue);
    if (slow?.crowded && now < slow.exactAt) return;
    const exactAt = now + Math.min(Math.max(ms * EXACT_REST, EXACT_EVERY_MS.least), EXACT_EVERY_MS.most);
    if (slow) Object.assign(slow, { exactAt, crowded: false });
    else {
      const marginAt = now + MARGIN_EVERY_MS;
      this.#slow.set(queue, { floors: new Map(), later: LOWEST, crowded: false, exactAt, marginAt });
    }
  }

  /** The last job claimed from a priority was scheduled at this instant (milliseconds since 1970). */
  claimedUpTo(queue: string, priority: number, scheduledAt: number): void {
    const slow = this.#slow.get(queue);
    if (slow) raise(slow, priority, Math.max(slow.floors.get(priority) ?? LOWEST, scheduledAt));
  }

  /** The last job found that was not due when it was written was scheduled at this instant. */
  fellDueUpTo(queue: string, scheduledAt: number): void {
    const slow = this.#slow.get(queue);
    if (slow) slow.later = Math.max(slow.later, scheduledAt);
  }

  /** `now` is in milliseconds since 1970, like the instants. */
  heard(queue: string, news: readonly PriorityNews[], now = Date.now()): void {
    const slow = this.#slow.get(queue);
    if (!slow) return;
    // News without priorities did not fit into its message: look everywhere.
    if (news.length === 0) this.#slow.delete(queue);
    for (const { priority, since } of news) {
      if (since !== null && since < slow.later) slow.later = since;
      const floor = slow.floors.get(priority);
      if (floor !== undefined) slow.floors.set(priority, Math.min(floor, since ?? floor));
      else if (since === null || since <= now + SOON_MS) raise(slow, priority, LOWEST);
    }
  }
}

function startsOf({ floors, later }: SlowQueue, margin: number): Floors {
  const start = (floor: number): string => new Date(Math.max(LOWEST, floor - margin)).toISOString();
  const sorted = [...floors].sort(([a], [b]) => b - a);
  return {
    priorities: sorted.map(([priority]) => priority),
    since: sorted.map(([, floor]) => start(floor)),
    later: start(later),
  };
}

function raise(slow: SlowQueue, priority: number, floor: number): void {
  if (slow.crowded) return;
  slow.floors.set(priority, floor);
  if (slow.floors.size <= MAX_PRIORITIES) return;
  slow.crowded = true;
  slow.floors.clear();
}
