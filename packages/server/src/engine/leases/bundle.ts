import { groupBy } from '../../domain/group-by.js';
import type { LeasedJob } from '../../domain/records.js';
import type { ClaimMark } from './claim-mark.js';
import type { ClaimedJob } from './claimed-job.js';

/** A job that a claim returned. */
export interface HeldJob extends LeasedJob {
  readonly job: ClaimedJob;
  /** The bundle that it was claimed into, at `position`. Null: it has had its own lease from the start. */
  readonly bundle: Bundle | null;
  readonly position: number;
  /** How far into its claim the pool may start; null if the pool did not claim it. */
  readonly mark: ClaimMark | null;
  /** Within its claim, from 1. */
  readonly number: number;
}

/**
 * Jobs of one tenant that are held under one token in one row (see the bundles table), as this process knows them. A
 * job's position is its number among the ids of the row, from 1: they are in claim order.
 *
 * A member stays until it is completed or moved to its own lease. Then the bundle drops it, with its payload, because a
 * bundle lives as long as its slowest member. Only HeldLeases makes members leave.
 *
 * `inFlight` counts the statements on their way that complete some of the members. The one that completes the last
 * members may delete the row, but only if no other is in flight: it might arrive before the other, and find more
 * members than the last ones.
 */
export class Bundle {
  readonly size: number;
  readonly #members: (HeldJob | null)[];
  #left: number;
  #inFlight = 0;

  constructor(
    readonly token: string,
    readonly tenant: string,
    mark: ClaimMark,
    jobs: readonly ClaimedJob[],
    numbers: readonly number[] | null,
  ) {
    this.#members = jobs.map((job, index) => {
      return { job, leaseToken: token, bundle: this, position: index + 1, mark, number: numbers?.[index] ?? index + 1 };
    });
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

  /** A statement that completes this many members is about to be sent. True if it will complete the last ones. */
  send(completions: number): boolean {
    return ++this.#inFlight === 1 && this.#left === completions;
  }

  /**
   * The answer has arrived, and the members it completed have left. True if the row may still exist without members.
   */
  answered(completedLast: boolean): boolean {
    return --this.#inFlight === 0 && !completedLast && this.isEmpty;
  }
}

/**
 * Puts claimed jobs into bundles, one per tenant, and returns them in the order of `numbers`. Null: numbered from 1.
 */
export function holdInBundles(
  jobs: readonly ClaimedJob[],
  numbers: readonly number[] | null,
  mark: ClaimMark,
): HeldJob[] {
  const [first] = jobs;
  if (!first) return [];
  // Nearly always the case: checking for other tenants is cheaper than grouping by tenant.
  if (jobs.every((job) => job.tenant_id === first.tenant_id))
    return new Bundle(mark.token, first.tenant_id, mark, jobs, numbers).members();
  const indexes = groupBy(jobs.keys(), (index) => jobs[index]!.tenant_id);
  const held = [...indexes].flatMap(([tenant, ofTenant]) => {
    const members = ofTenant.map((index) => jobs[index]!);
    const theirNumbers = ofTenant.map((index) => numbers?.[index] ?? index + 1);
    return new Bundle(mark.token, tenant, mark, members, theirNumbers).members();
  });
  return held.sort((a, b) => a.number - b.number);
}
