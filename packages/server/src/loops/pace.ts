/**
 * How fast the pool works: how many jobs its workers finish per second while they have any, and how long claims and
 * settlements take. Recent work counts most, and what is long ago not at all: after a rest the pool starts small again.
 */
const MEMORY_MS = 200;
/** Added to the time worked, so that one fast job does not pass for a fast pool. */
const DOUBT_MS = 50;
/** Of the time that has passed at all: less says nothing about a rate. */
const LEAST_MS = 20;
/** How much of a smoothed latency is its newest sample. */
const NEWEST = 0.25;

export class Pace {
  #jobs = 0;
  #workedMs = 0;
  #elapsedMs = 0;
  #at: number;
  #claimMs = 0;
  #settleMs = 0;

  constructor(now: number) {
    this.#at = now;
  }

  /** Until now, since the last call, workers were busy or not, and so many jobs finished. */
  note(now: number, busy: boolean, finished: number): void {
    const elapsed = now - this.#at;
    this.#at = now;
    const kept = Math.exp(-elapsed / MEMORY_MS);
    this.#jobs = this.#jobs * kept + finished;
    this.#workedMs = this.#workedMs * kept + (busy ? elapsed : 0);
    this.#elapsedMs = this.#elapsedMs * kept + elapsed;
  }

  claimTook(ms: number): void {
    this.#claimMs = smoothed(this.#claimMs, ms);
  }

  settlementTook(ms: number): void {
    this.#settleMs = smoothed(this.#settleMs, ms);
  }

  get claimMs(): number {
    return this.#claimMs;
  }

  get settleMs(): number {
    return this.#settleMs;
  }

  /** How many jobs the workers finish in so long, if they always have one. */
  finishedWithin(ms: number): number {
    return Math.floor((this.#jobs / (this.#workedMs + DOUBT_MS)) * ms);
  }

  /** How many jobs passed through the pool in so long, with all that they had to wait for. */
  passedWithin(ms: number): number {
    return Math.floor((this.#jobs / Math.max(this.#elapsedMs, LEAST_MS)) * ms);
  }
}

const smoothed = (before: number, ms: number): number => (before === 0 ? ms : before + (ms - before) * NEWEST);
