/**
 * Time that may be spent under a name: so much at once, and after that a fraction of the time that passes. Time is
 * measured, not estimated: on a busy machine everything takes longer, and whoever costs much has to wait longer.
 *
 * Invariants: nobody ever has to wait longer than `maxWaitMs`, whatever was spent; only names that have spent something
 * not yet made up for are remembered.
 */
interface Spent {
  readonly ms: number;
  readonly at: number;
}

export interface AllowanceOptions {
  readonly burstMs: number;
  /** How much of each millisecond that passes is added. */
  readonly regained: number;
  readonly maxWaitMs: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

export class Allowance {
  readonly #spent = new Map<string, Spent>();
  readonly #now: () => number;

  constructor(private readonly options: AllowanceOptions) {
    this.#now = options.now ?? (() => performance.now());
  }

  /** Until something may be spent again. */
  waitMs(name: string): number {
    const { burstMs, regained } = this.options;
    return Math.max(0, (this.#spentBy(name) - burstMs) / regained);
  }

  spend(name: string, ms: number): void {
    if (ms <= 0) return;
    const { burstMs, regained, maxWaitMs } = this.options;
    const total = Math.min(this.#spentBy(name) + ms, burstMs + maxWaitMs * regained);
    // In the order in which they last spent something: the first to be forgotten are in front.
    this.#spent.delete(name);
    this.#spent.set(name, { ms: total, at: this.#now() });
    for (const other of this.#spent.keys()) {
      if (this.#spentBy(other) > 0) return;
      this.#spent.delete(other);
    }
  }

  #spentBy(name: string): number {
    const spent = this.#spent.get(name);
    return spent === undefined ? 0 : Math.max(0, spent.ms - (this.#now() - spent.at) * this.options.regained);
  }
}
