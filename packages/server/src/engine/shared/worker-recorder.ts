import type { Instant } from '../../domain/records.js';

/**
 * What this process saw workers do since it last wrote, by tenant, worker and queue. In memory, bounded: workers that
 * find no room any more are left out. A worker that gave no name is not noted.
 */
export interface WorkerTally {
  readonly tenant: string;
  readonly worker: string;
  readonly queue: string;
  completed: number;
  failed: number;
  expired: number;
  /** When it first and last leased, extended or reported, by the monotonic clock of this process. */
  firstAt: number;
  seenAt: number;
  /** The same by the database's clock, once somebody has asked: asked again, they are the same instants. */
  first: Instant | null;
  instant: Instant | null;
}

const MAX_TALLIES = 10_000;

export class WorkerRecorder {
  #tallies = new Map<string, WorkerTally>();
  /** On their way to the database. */
  #taken: readonly WorkerTally[] = [];
  #last: WorkerTally | null = null;

  constructor(readonly now: () => number = () => performance.now()) {}

  /** It leased or extended. */
  seen(tenant: string, worker: string | null, queue: string): void {
    const tally = this.#tally(tenant, worker, queue);
    if (tally) this.#see(tally, this.now());
  }

  /** It reported so many of its jobs. */
  reported(tenant: string, worker: string | null, queue: string, completed: number, failed: number): void {
    const tally = this.#tally(tenant, worker, queue);
    if (!tally) return;
    tally.completed += completed;
    tally.failed += failed;
    this.#see(tally, this.now());
  }

  /** A lease of its expired: it was last seen no later than when that began, as far as this tells. */
  expired(tenant: string, worker: string | null, queue: string, heldSecs: number): void {
    const tally = this.#tally(tenant, worker, queue);
    if (!tally) return;
    tally.expired++;
    this.#see(tally, this.now() - heldSecs * 1000);
  }

  get isEmpty(): boolean {
    return this.#tallies.size === 0;
  }

  /** Everything noted so far, to be written; from here on, it notes anew. */
  take(): readonly WorkerTally[] {
    this.#taken = [...this.#tallies.values()];
    this.#tallies = new Map();
    this.#last = null;
    return this.#taken;
  }

  /** What was taken is written, but for these. */
  written(unwritten: readonly WorkerTally[] = []): void {
    this.#taken = [];
    for (const { tenant, worker, queue, completed, failed, expired, firstAt, seenAt } of unwritten) {
      const tally = this.#tally(tenant, worker, queue);
      if (!tally) continue;
      tally.completed += completed;
      tally.failed += failed;
      tally.expired += expired;
      this.#see(tally, firstAt);
      this.#see(tally, seenAt);
    }
  }

  /** What is not in the database yet. */
  unwritten(): readonly WorkerTally[] {
    return [...this.#taken, ...this.#tallies.values()];
  }

  #see(tally: WorkerTally, at: number): void {
    if (at < tally.firstAt) {
      tally.firstAt = at;
      tally.first = null;
    }
    if (at <= tally.seenAt) return;
    tally.seenAt = at;
    tally.instant = null;
  }

  /** Nearly every event is like the one before. */
  #tally(tenant: string, worker: string | null, queue: string): WorkerTally | null {
    if (worker === null) return null;
    const last = this.#last;
    if (last !== null && last.tenant === tenant && last.worker === worker && last.queue === queue) return last;
    const key = `${tenant}\0${worker}\0${queue}`;
    let tally = this.#tallies.get(key);
    if (!tally) {
      if (this.#tallies.size >= MAX_TALLIES) return null;
      const never = { firstAt: Infinity, seenAt: -Infinity, first: null, instant: null };
      tally = { tenant, worker, queue, completed: 0, failed: 0, expired: 0, ...never };
      this.#tallies.set(key, tally);
    }
    return (this.#last = tally);
  }
}
