import { dueDelayMs } from './due-delay.js';
import type { Hub } from '../shared/hub.js';

/**
 * Watches the queues on which callers wait and nothing is claimable, all of them together: ten thousand of them cost
 * one statement now and then, not one each.
 *
 * A queue is watched from the moment its callers have to wait until none of them is left. It is looked at once, soon
 * after that begins, and then with all the others every SAFETY_MS. When one of its jobs is due, `onDue` is called; jobs
 * that fall due before the next look get a timer. Callers that hear of new work through the hub do not wait for any of
 * this.
 *
 * `isIdle` is a hint and may be wrong: a caller that relies on it waits at most GATHER_MS longer than one that asks the
 * database.
 */
const SAFETY_MS = 4_000;
/** Looks begin at least this far apart; requests that arrive in between share one. */
const GATHER_MS = 200;
const MAX_PER_LOOK = 5_000;
const MAX_REMEMBERED = 50_000;

export interface QueueHead {
  readonly queue: string;
  /** Until its first job falls due; 0 or less: it is due. */
  readonly secs: number;
}

/** The heads of the queues, except those on which no job waits. */
export type ReadHeads = (queues: readonly string[]) => Promise<readonly QueueHead[]>;

interface Watched {
  readonly onDue: () => void;
  alarm: NodeJS.Timeout | null;
}

export class IdleQueues {
  readonly #watched = new Map<string, Watched>();
  readonly #toLookAt = new Set<string>();
  /** Until when nothing falls due there, by the monotonic clock of this process. */
  readonly #idleUntil = new Map<string, number>();
  #looking = false;
  #lookedAt = -Infinity;
  #soon: NodeJS.Timeout | null = null;
  #safety: NodeJS.Timeout | null = null;

  constructor(
    private readonly readHeads: ReadHeads,
    hub: Pick<Hub, 'onAnyWork'>,
  ) {
    hub.onAnyWork((queue) => this.#idleUntil.delete(queue));
  }

  /**
   * Whether nothing was due on the queue when it was last looked at, and since then nothing has fallen due and no work
   * has been announced.
   */
  isIdle(queue: string): boolean {
    return performance.now() < (this.#idleUntil.get(queue) ?? 0);
  }

  watch(queue: string, onDue: () => void): void {
    if (!this.#watched.has(queue)) this.#watched.set(queue, { onDue, alarm: null });
    this.#toLookAt.add(queue);
    this.#schedule();
  }

  unwatch(queue: string): void {
    const watched = this.#watched.get(queue);
    if (!watched) return;
    if (watched.alarm) clearTimeout(watched.alarm);
    this.#watched.delete(queue);
    this.#toLookAt.delete(queue);
    if (this.#watched.size === 0) this.#rest();
  }

  #schedule(): void {
    this.#safety ??= setTimeout(() => this.#lookAtAll(), SAFETY_MS);
    if (this.#looking || this.#soon || this.#toLookAt.size === 0) return;
    const waitMs = Math.max(0, this.#lookedAt + GATHER_MS - performance.now());
    this.#soon = setTimeout(() => {
      this.#soon = null;
      void this.#look();
    }, waitMs);
  }

  #lookAtAll(): void {
    this.#safety = null;
    for (const queue of this.#watched.keys()) this.#toLookAt.add(queue);
    this.#schedule();
  }

  #rest(): void {
    if (this.#soon) clearTimeout(this.#soon);
    if (this.#safety) clearTimeout(this.#safety);
    this.#soon = this.#safety = null;
  }

  async #look(): Promise<void> {
    const queues = [...this.#toLookAt].slice(0, MAX_PER_LOOK);
    for (const queue of queues) this.#toLookAt.delete(queue);
    this.#looking = true;
    this.#lookedAt = performance.now();
    // Before the query, not after its answer: work that is announced in between must not be forgotten.
    for (const queue of queues) this.#remember(queue, Infinity);
    try {
      const heads = await this.readHeads(queues);
      for (const { queue, secs } of heads) this.#found(queue, secs);
    } catch {
      // The database is unavailable. The safety look tries again.
      for (const queue of queues) this.#idleUntil.delete(queue);
    }
    this.#looking = false;
    if (this.#watched.size > 0) this.#schedule();
  }

  #found(queue: string, secs: number): void {
    const delayMs = dueDelayMs(secs);
    // If work was announced meanwhile, the queue is no longer remembered as idle, and it stays that way.
    if (this.#idleUntil.has(queue)) this.#remember(queue, performance.now() + secs * 1000);
    const watched = this.#watched.get(queue);
    if (!watched) return;
    if (watched.alarm) clearTimeout(watched.alarm);
    watched.alarm = null;
    // A job that falls due later is found by a look before then.
    if (delayMs <= SAFETY_MS + GATHER_MS) watched.alarm = setTimeout(watched.onDue, delayMs);
  }

  #remember(queue: string, until: number): void {
    if (this.#idleUntil.size >= MAX_REMEMBERED) this.#idleUntil.clear();
    this.#idleUntil.set(queue, until);
  }
}
