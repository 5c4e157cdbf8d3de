import type { Hub } from '../shared/hub.js';

/**
 * When claims of queues with limits are worth it. A claim that found no room, or no token, closes the queue in this
 * process for a while; it is open again after that, or once one of its jobs ends, here or in another process, or its
 * settings change. Whoever waits for jobs of the queue is woken then, and not by new jobs before.
 *
 * Nothing depends on it being right: whoever asks anew claims in any case, and no queue stays closed for long.
 */
/** News may be lost. */
const LONGEST_MS = 5_000;
/** Jobs that end shortly after one another wake those who wait once. */
const TOGETHER_MS = 5;

interface Closed {
  readonly until: number;
  readonly timer: NodeJS.Timeout;
}

export class GateOpenings {
  readonly #closed = new Map<string, Closed>();
  /** Where it matters that a job has ended, and when the last one was announced. */
  readonly #counted = new Map<string, number>();
  readonly #ended = new Set<string>();
  #waking: NodeJS.Timeout | null = null;
  #stopListening: (() => void) | null = null;
  #stopped = false;

  constructor(private readonly hub: Hub) {
    hub.onAnyWork((queue, news) => {
      if (news === null) this.#open(queue);
    });
  }

  isCounted(queue: string): boolean {
    return this.#counted.has(queue);
  }

  /** Whether its claims count what runs, or what may start. */
  know(queue: string, counted: boolean): void {
    if (!counted) {
      this.#counted.delete(queue);
      this.#unclose(queue);
    } else if (!this.#counted.has(queue)) this.#counted.set(queue, -Infinity);
    if (this.#counted.size > 0) this.#stopListening ??= this.hub.onEnds((each) => this.#hear(each));
    else this.#listenNoMore();
  }

  /** Seconds until a claim of the queue is worth it, at least. */
  closedSecs(queue: string): number {
    return Math.max(0, (this.#closed.get(queue)?.until ?? 0) - performance.now()) / 1000;
  }

  /** Unless it was opened since `from`, which is when the claim that found nothing began. */
  close(queue: string, ms: number, from: number): void {
    this.#unclose(queue);
    if (this.#stopped || (this.#counted.get(queue) ?? -Infinity) >= from) return;
    const closedMs = Math.min(ms, LONGEST_MS);
    const timer = setTimeout(() => this.hub.open(queue), Math.ceil(closedMs));
    timer.unref();
    this.#closed.set(queue, { until: performance.now() + closedMs, timer });
  }

  stop(): void {
    this.#stopped = true;
    this.#listenNoMore();
    if (this.#waking) clearTimeout(this.#waking);
    for (const queue of this.#closed.keys()) this.#unclose(queue);
  }

  #hear(queue: string): void {
    if (!this.#counted.has(queue)) return;
    this.#ended.add(queue);
    this.#waking ??= setTimeout(() => {
      this.#waking = null;
      const ended = [...this.#ended];
      this.#ended.clear();
      for (const each of ended) this.hub.announceOpening(each);
    }, TOGETHER_MS);
  }

  #open(queue: string): void {
    if (this.#counted.has(queue)) this.#counted.set(queue, performance.now());
    this.#unclose(queue);
  }

  #unclose(queue: string): void {
    const closed = this.#closed.get(queue);
    if (closed) clearTimeout(closed.timer);
    this.#closed.delete(queue);
  }

  #listenNoMore(): void {
    this.#stopListening?.();
    this.#stopListening = null;
  }
}
