/**
 * How fast the pool works: how many jobs its workers finish per second while they have any, and how long claims and
 * settlements take. Recent work counts most and old work not at all, so after an idle period the pool starts small
 * again.
 */
const MEMORY_MS = 200;
/** Added to the time worked, so that one fast job does not make the pool look fast. */
const DOUBT_MS = 50;
/** The least elapsed time to divide by: a shorter time says nothing about a rate. */
const LEAST_MS = 20;
/** The weight of the newest sample in a smoothed latency. */
const NEWEST = 0.25;

export class Pace {
  #jobs = 0;
  #finished = 0;
  #workedMs = 0;
  #elapsedMs = 0;
  #at: number;
  #claimMs = 0;
  #settleMs = 0;

  constructor(now: number) {
    this.#at = now;
  }

  /** A job has finished. */
  finished(): void {
    this.#finished++;
  }

  /** Records the time since the last call, with the jobs that finished in it, and whether workers were busy. */
  note(now: number, busy: boolean): void {
    const elapsed = now - this.#at;
    this.#at = now;
    const kept = Math.exp(-elapsed / MEMORY_MS);
    this.#jobs = this.#jobs * kept + this.#finished;
    this.#finished = 0;
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

  /** How many jobs the workers finish in this time if they never run out of jobs. */
  finishedWithin(ms: number): number {
    return Math.floor((this.#jobs / (this.#workedMs + DOUBT_MS)) * ms);
  }

  /** How many jobs pass through the pool in this time, including everything they wait for. */
  passedWithin(ms: number): number {
    return Math.floor((this.#jobs / Math.max(this.#elapsedMs, LEAST_MS)) * ms);
  }
}

const smoothed = (before: number, ms: number): number => (before === 0 ? ms : before + (ms - before) * NEWEST);
