/**
 * The slots of one queue. A handler takes one until it ends, even if it ignores that it was told to stop. Jobs whose
 * report waits for an answer take none, unless they are more than the queue has slots: a server that hands out jobs but
 * takes no reports must not fill the memory.
 */
export class Slots {
  #running = 0;
  #reporting = 0;
  #waiters: (() => void)[] = [];

  constructor(readonly count: number) {}

  get free(): number {
    return this.count - this.#running - Math.max(0, this.#reporting - this.count);
  }

  take(jobs: number): void {
    this.#running += jobs;
  }

  leave(): void {
    this.#running--;
    this.wake();
  }

  startReport(): void {
    this.#reporting++;
  }

  endReport(): void {
    this.#reporting--;
    this.wake();
  }

  /** Resolves the next time that something changes, together with what else changes in the same turn. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(() => setImmediate(resolve)));
  }

  wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}
