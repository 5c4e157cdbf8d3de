import { dueDelayMs } from './due-delay.js';
import { BatchedPoller } from '../shared/batched-poller.js';
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
export const SAFETY_MS = 4_000;
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
  readonly #poller: BatchedPoller<string>;
  /** Until when nothing falls due there, by the monotonic clock of this process. */
  readonly #idleUntil = new Map<string, number>();

  constructor(
    private readonly readHeads: ReadHeads,
    hub: Pick<Hub, 'onAnyWork'>,
    private readonly safetyMs = SAFETY_MS,
  ) {
    this.#poller = new BatchedPoller({
      gatherMs: GATHER_MS,
      everyMs: safetyMs,
      inTurn: () => this.#watched.keys(),
      fitting: (queues) => [...queues].slice(0, MAX_PER_LOOK),
      poll: (queues) => this.#look(queues),
    });
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
    this.#poller.ask(queue);
  }

  unwatch(queue: string): void {
    const watched = this.#watched.get(queue);
    if (!watched) return;
    if (watched.alarm) clearTimeout(watched.alarm);
    this.#watched.delete(queue);
    this.#poller.forget(queue);
    if (this.#watched.size === 0) this.#poller.stop();
  }

  async #look(queues: readonly string[]): Promise<void> {
    // Before the query, not after its answer: work that is announced in between must not be forgotten.
    for (const queue of queues) this.#remember(queue, Infinity);
    try {
      const heads = await this.readHeads(queues);
      for (const { queue, secs } of heads) this.#found(queue, secs);
    } catch {
      // The database is unavailable. The safety look tries again.
      for (const queue of queues) this.#idleUntil.delete(queue);
    }
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
    if (delayMs <= this.safetyMs + GATHER_MS) watched.alarm = setTimeout(watched.onDue, delayMs);
  }

  #remember(queue: string, until: number): void {
    if (this.#idleUntil.size >= MAX_REMEMBERED) this.#idleUntil.clear();
    this.#idleUntil.set(queue, until);
  }
}
