import { groupBy } from '../../domain/group-by.js';
import type { JobRecord, LeasedJob } from '../../domain/records.js';

/** A claimed job, and the bundle it was claimed into, at which position. Null: it has had its own lease from the start. */
export interface HeldJob extends LeasedJob {
  readonly bundle: Bundle | null;
  readonly position: number;
}

/**
 * Jobs of one tenant that are held under one token in one row (see the bundles table), as this process knows them. A
 * job's position is its number among the ids of the row, from 1.
 *
 * A member is here until it leaves: completed, or moved to a lease of its own. Then it is let go, with its payload: a
 * bundle lives as long as its slowest member. Only HeldLeases makes members leave.
 *
 * `inFlight` counts the statements that are on their way to complete some members. The one that completes the last may
 * delete the row, but only if no other is on its way: that one might arrive first, and find more than the last.
 */
export class Bundle {
  readonly size: number;
  readonly #members: (HeldJob | null)[];
  #left: number;
  #inFlight = 0;

  constructor(
    readonly token: string,
    readonly tenant: string,
    jobs: readonly JobRecord[],
  ) {
    this.#members = [...jobs]
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((job, index) => ({ job, leaseToken: token, bundle: this, position: index + 1 }));
    this.size = this.#left = this.#members.length;
  }

  get isEmpty(): boolean {
    return this.#left === 0;
  }

  members(): HeldJob[] {
    return this.#members.filter((member) => member !== null);
  }

  holds({ position }: HeldJob): boolean {
    return this.#members[position - 1] !== null;
  }

  leave(member: HeldJob): void {
    if (!this.holds(member)) return;
    this.#members[member.position - 1] = null;
    this.#left--;
  }

  /** A statement that completes so many members is about to be sent. True if it will complete the last. */
  send(completions: number): boolean {
    return ++this.#inFlight === 1 && this.#left === completions;
  }

  /** The answer is there, and those it completed have left. True if the row may still be there with nobody in it. */
  answered(completedLast: boolean): boolean {
    return --this.#inFlight === 0 && !completedLast && this.isEmpty;
  }
}

/** Jobs that were claimed into bundles, one bundle per tenant; in the order given. */
export function holdInBundles(token: string, jobs: readonly JobRecord[]): HeldJob[] {
  const held = new Map<string, HeldJob>();
  for (const [tenant, ofTenant] of groupBy(jobs, (job) => job.tenant_id))
    for (const member of new Bundle(token, tenant, ofTenant).members()) held.set(member.job.id, member);
  return jobs.map((job) => held.get(job.id)!);
}

export const holdAlone = (job: JobRecord, leaseToken: string): HeldJob => ({
  job,
  leaseToken,
  bundle: null,
  position: 0,
});
