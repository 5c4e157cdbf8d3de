import type { HeldJob } from '../engine/leases/bundle.js';

/**
 * Claimed jobs that have not started, in the order in which they are to start. Those of databases that are held up wait
 * apart, or they would keep the ones behind them waiting; once that is over, they come first.
 */
export class JobBuffer {
  #ready: readonly HeldJob[] = [];
  #aside: readonly HeldJob[] = [];

  /** The next ones. */
  get ready(): readonly HeldJob[] {
    return this.#ready;
  }

  /** How many wait apart. */
  get aside(): number {
    return this.#aside.length;
  }

  get isEmpty(): boolean {
    return this.#ready.length + this.#aside.length === 0;
  }

  add(jobs: readonly HeldJob[]): void {
    this.#ready = this.#ready.length === 0 ? [...jobs] : this.#ready.concat(jobs);
  }

  /** The first so many have started. */
  started(n: number): void {
    if (n > 0) this.#ready = this.#ready.slice(n);
  }

  /** `waits`: whether a job is to wait apart; null: none is. */
  sortOut(waits: ((held: HeldJob) => boolean) | null): void {
    if (waits === null && this.#aside.length === 0) return;
    const all = this.#aside.concat(this.#ready);
    this.#aside = waits === null ? [] : all.filter(waits);
    this.#ready = waits === null ? all : all.filter((held) => !waits(held));
  }

  remove(held: HeldJob): void {
    this.#ready = this.#ready.filter((each) => each !== held);
    this.#aside = this.#aside.filter((each) => each !== held);
  }

  takeAll(): readonly HeldJob[] {
    const all = this.#ready.concat(this.#aside);
    this.#ready = [];
    this.#aside = [];
    return all;
  }
}
