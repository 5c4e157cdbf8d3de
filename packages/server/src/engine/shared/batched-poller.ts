/**
 * Polls many things together: whatever is asked for is gathered into one poll, soon afterwards; and every `everyMs`
 * the poller asks for what is in turn by itself. Polls run one at a time and begin at least `gatherMs` apart. A poller
 * that nobody has asked since it was stopped has no timers.
 */
export interface BatchedPollerOptions<Key> {
  readonly gatherMs: number;
  readonly everyMs: number;
  /** What is asked for every `everyMs`. */
  readonly inTurn: () => Iterable<Key>;
  /** How many of those that were asked for, in order, fit into one poll. */
  readonly fitting: (asked: ReadonlySet<Key>) => readonly Key[];
  /** Must not reject. */
  readonly poll: (keys: readonly Key[]) => Promise<void>;
}

export class BatchedPoller<Key> {
  readonly #asked = new Set<Key>();
  #isStopped = true;
  #isPolling = false;
  #polledAt = -Infinity;
  #soon: NodeJS.Timeout | null = null;
  #regular: NodeJS.Timeout | null = null;

  constructor(private readonly options: BatchedPollerOptions<Key>) {}

  ask(key: Key): void {
    this.#isStopped = false;
    this.#asked.add(key);
    this.#schedule();
  }

  forget(key: Key): void {
    this.#asked.delete(key);
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#soon) clearTimeout(this.#soon);
    if (this.#regular) clearTimeout(this.#regular);
    this.#soon = this.#regular = null;
  }

  #schedule(): void {
    this.#regular ??= setTimeout(() => this.#askInTurn(), this.options.everyMs);
    if (this.#isPolling || this.#soon || this.#asked.size === 0) return;
    const waitMs = Math.max(0, this.#polledAt + this.options.gatherMs - performance.now());
    this.#soon = setTimeout(() => {
      this.#soon = null;
      void this.#poll();
    }, waitMs);
  }

  #askInTurn(): void {
    this.#regular = null;
    for (const key of this.options.inTurn()) this.#asked.add(key);
    this.#schedule();
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    this.#polledAt = performance.now();
    const keys = this.options.fitting(this.#asked);
    for (const key of keys) this.#asked.delete(key);
    await this.options.poll(keys);
    this.#isPolling = false;
    if (!this.#isStopped) this.#schedule();
  }
}
