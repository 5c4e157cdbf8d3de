import { groupBy } from '../../domain/group-by.js';
import type { LeasedJob } from '../../domain/records.js';

/** A leased job, and where it is held together with others: its place there. Null: it has a lease of its own. */
export interface HeldJob extends LeasedJob {
  readonly bundle: Bundle | null;
  readonly place: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Jobs of one tenant that stand under one token in one row (see the bundles table), as this process knows them. A job's place is its number
 * among the ids in order, from 1, as in the row.
 *
 * `flying` counts the statements that are on the way to take some out. The one that takes the last may remove the row, but only if no
 * other is on its way: it might arrive first, and find more than the last.
 */
export class Bundle {
  flying = 0;
  readonly #members: readonly HeldJob[];
  readonly #open: Set<number>;

  constructor(
    readonly token: string,
    readonly tenant: string,
    jobs: readonly HeldJob[],
  ) {
    this.#members = [...jobs].sort((a, b) => (a.job.id < b.job.id ? -1 : 1));
    this.#members.forEach((leased: Writable<HeldJob>, index) => {
      leased.bundle = this;
      leased.place = index + 1;
    });
    this.#open = new Set(this.#members.map((leased) => leased.place));
  }

  get size(): number {
    return this.#members.length;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  /** Those that this process has not yet taken out. */
  left(): HeldJob[] {
    return this.#members.filter((leased) => this.#open.has(leased.place));
  }

  /** Out of this process's hands: completed, or moved to a lease of its own. */
  take(place: number): void {
    this.#open.delete(place);
  }

  /** Whether a statement that takes so many takes the last. */
  endsWith(n: number): boolean {
    return this.#open.size === n && this.flying === 1;
  }
}

/** Puts jobs that were claimed into bundles into theirs: one a tenant. */
export function formBundles(token: string, jobs: Iterable<HeldJob>): void {
  for (const [tenant, members] of groupBy(jobs, (leased) => leased.job.tenant_id)) new Bundle(token, tenant, members);
}
