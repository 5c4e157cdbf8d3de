import { SERIES_OTHER } from '@millrace/contract';
import { latencyBucketOf, LATENCY_BUCKETS } from '../../domain/latency-buckets.js';

/** Where a job belongs. */
export interface Origin {
  readonly tenant: string;
  readonly queue: string;
  readonly task: string;
}

/**
 * What this process did since it last wrote, by tenant, queue and task. In memory, bounded: tasks that find no room any
 * more are added up under "other", and tenants that find none are left out.
 */
export interface Tally extends Origin {
  created: number;
  completed: number;
  failed: number;
  retried: number;
  cancelled: number;
  /** From due to claimed, by bucket. */
  readonly waits: number[];
  /** From claimed to ended, by bucket. */
  readonly runs: number[];
}

/** A delivery after one that ended without failing. How long it waited is known when that end has been looked up. */
export interface Redelivery extends Origin {
  readonly id: string;
  /** The number of the attempt before. */
  readonly after: number;
  readonly dueMs: number;
  readonly claimedMs: number;
}

/** Most of those that are held; further ones count from when they were due. */
const MAX_REDELIVERIES = 10_000;

/** Most tallies that are held; "other" gets a further one per tenant, for half as many tenants. */
const MAX_TALLIES = 10_000;
const MAX_OTHERS = MAX_TALLIES / 2;

export class SeriesRecorder {
  #tallies = new Map<string, Map<string, Tally>>();
  #size = 0;
  #others = 0;
  #last: Tally | null = null;
  #redeliveries: Redelivery[] = [];

  created({ tenant, queue, task }: Origin): void {
    const tally = this.#tally(tenant, queue, task);
    if (tally) tally.created++;
  }

  waited(tenant: string, queue: string, task: string, seconds: number): void {
    const tally = this.#tally(tenant, queue, task);
    if (tally) tally.waits[latencyBucketOf(seconds)]!++;
  }

  /** False: there is no room for it. */
  redelivered(redelivery: Redelivery): boolean {
    if (this.#redeliveries.length >= MAX_REDELIVERIES) return false;
    this.#redeliveries.push(redelivery);
    return true;
  }

  takeRedeliveries(): Redelivery[] {
    const taken = this.#redeliveries;
    this.#redeliveries = [];
    return taken;
  }

  /** One attempt that ended: for good, or to be tried again. */
  ended(
    outcome: 'completed' | 'failed' | 'retried' | 'cancelled',
    { tenant, queue, task }: Origin,
    runSecs: number,
  ): void {
    const tally = this.#tally(tenant, queue, task);
    if (!tally) return;
    tally[outcome]++;
    tally.runs[latencyBucketOf(runSecs)]!++;
  }

  cancelledWaiting({ tenant, queue, task }: Origin): void {
    const tally = this.#tally(tenant, queue, task);
    if (tally) tally.cancelled++;
  }

  get isEmpty(): boolean {
    return this.#size + this.#others + this.#redeliveries.length === 0;
  }

  /** Everything noted so far; from here on, it notes anew. */
  take(): Tally[] {
    const taken = [...this.#tallies.values()].flatMap((ofTenant) => [...ofTenant.values()]);
    this.#tallies = new Map();
    this.#size = 0;
    this.#others = 0;
    this.#last = null;
    return taken;
  }

  /** Puts back what could not be written. */
  putBack(tallies: readonly Tally[]): void {
    for (const tally of tallies) {
      const target = this.#tally(tally.tenant, tally.queue, tally.task);
      if (!target) continue;
      target.created += tally.created;
      target.completed += tally.completed;
      target.failed += tally.failed;
      target.retried += tally.retried;
      target.cancelled += tally.cancelled;
      for (let bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        target.waits[bucket]! += tally.waits[bucket]!;
        target.runs[bucket]! += tally.runs[bucket]!;
      }
    }
  }

  /** Nearly every event is like the one before. */
  #tally(tenant: string, queue: string, task: string): Tally | null {
    const last = this.#last;
    if (last !== null && last.tenant === tenant && last.queue === queue && last.task === task) return last;
    return (this.#last = this.#find(tenant, queue, task));
  }

  #find(tenant: string, queue: string, task: string): Tally | null {
    let ofTenant = this.#tallies.get(tenant);
    const key = `${queue}\0${task}`;
    const found = ofTenant?.get(key);
    if (found) return found;
    const isOther = queue === SERIES_OTHER && task === SERIES_OTHER;
    if (!isOther && this.#size >= MAX_TALLIES) return this.#find(tenant, SERIES_OTHER, SERIES_OTHER);
    if (isOther && this.#others >= MAX_OTHERS) return null;
    if (isOther) this.#others++;
    else this.#size++;
    if (!ofTenant) this.#tallies.set(tenant, (ofTenant = new Map<string, Tally>()));
    const tally = newTally(tenant, queue, task);
    ofTenant.set(key, tally);
    return tally;
  }
}

export const newTally = (tenant: string, queue: string, task: string): Tally => ({
  tenant,
  queue,
  task,
  created: 0,
  completed: 0,
  failed: 0,
  retried: 0,
  cancelled: 0,
  waits: new Array<number>(LATENCY_BUCKETS).fill(0),
  runs: new Array<number>(LATENCY_BUCKETS).fill(0),
});
