import { groupBy } from '../../domain/group-by.js';
import type { JobRecord, LeasedJob } from '../../domain/records.js';
import type { ClaimMark } from './claim-mark.js';

/** A job that a claim brought. */
export interface HeldJob extends LeasedJob {
  /** Into which it was claimed, at which position. Null: it has had its own lease from the start. */
  readonly bundle: Bundle | null;
  readonly position: number;
  /** How far into its claim the pool may start; null where no pool claimed it. */
  readonly mark: ClaimMark | null;
  /** Within its claim, from 1. */
  readonly number: number;
}

/**
 * Jobs of one tenant that are held under one token in one row (see the bundles table), as this process knows them. A
 * job's position is its number among the ids of the row, from 1: they are in claim order.
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
    mark: ClaimMark,
    jobs: readonly JobRecord[],
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

  /** A statement that completes so many members is about to be sent. True if it will complete the last. */
  send(completions: number): boolean {
    return ++this.#inFlight === 1 && this.#left === completions;
  }

  /** The answer is there, and those it completed have left. True if the row may still be there with nobody in it. */
  answered(completedLast: boolean): boolean {
    return --this.#inFlight === 0 && !completedLast && this.isEmpty;
  }
}

/**
 * Jobs that were claimed into bundles, one bundle per tenant; in the order of their numbers. Null: numbered from 1 on.
 */
export function holdInBundles(
  jobs: readonly JobRecord[],
  numbers: readonly number[] | null,
  mark: ClaimMark,
): HeldJob[] {
  const [first] = jobs;
  if (!first) return [];
  // Nearly always: looking for the others is cheaper than sorting them apart.
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
