import type { Head } from '../../domain/heads.js';
import type { PriorityNews } from '../../store/connection/notifications.js';

/**
 * What looks at queues have found, so that not every claim over several databases begins with a look at each of them.
 *
 * Claims of this process take from it, and its news change it. What else may happen (another process claims, news are
 * lost) is noticed when a claim comes up short, or KEPT_MS later: until then the order over several databases may be
 * that of a moment ago. A job that falls due ends it at that instant.
 */
const KEPT_MS = 100;
const MAX_QUEUES = 1_000;

export interface Peeked {
  readonly heads: readonly Head[];
  /** Whether there may be others behind these. */
  readonly more: boolean;
}

interface Kept {
  readonly heads: readonly Head[];
  /** How many of them have been claimed since. */
  taken: number;
  more: boolean;
  readonly until: number;
}

export class PeekedHeads {
  readonly #kept = new Map<string, Kept>();

  /** Null: nobody has looked lately. `now` is any monotonic clock in milliseconds. */
  of(queue: string, count: number, now: number): Peeked | null {
    const kept = this.#kept.get(queue);
    if (kept === undefined) return null;
    const left = kept.heads.length - kept.taken;
    if (now < kept.until && (left > 0 || !kept.more))
      return { heads: kept.heads.slice(kept.taken, kept.taken + count), more: kept.more || left > count };
    this.#kept.delete(queue);
    return null;
  }

  /** `dueInMs`: when the next job falls due, from `now` on. */
  found(queue: string, { heads, more }: Peeked, now: number, dueInMs: number): void {
    if (this.#kept.size >= MAX_QUEUES) this.#kept.clear();
    this.#kept.set(queue, { heads, taken: 0, more, until: now + Math.min(KEPT_MS, dueInMs) });
  }

  /** So many are about to be claimed. */
  claiming(queue: string, count: number): void {
    const kept = this.#kept.get(queue);
    if (kept !== undefined) kept.taken = Math.min(kept.heads.length, kept.taken + count);
  }

  forget(queue: string): void {
    this.#kept.delete(queue);
  }

  heard(queue: string, news: readonly PriorityNews[]): void {
    const kept = this.#kept.get(queue);
    if (kept === undefined) return;
    const last = kept.heads.at(-1);
    // News without priorities did not fit into its message.
    const allBehind = news.length > 0 && last !== undefined && news.every((job) => isBehind(job, last));
    if (allBehind) kept.more = true;
    else this.#kept.delete(queue);
  }
}

/** A job without an instant is due now, so it comes behind those that were due before. */
const isBehind = ({ priority, since }: PriorityNews, last: Head): boolean =>
  priority < last.priority || (priority === last.priority && (since === null || since > last.at * 1000));
