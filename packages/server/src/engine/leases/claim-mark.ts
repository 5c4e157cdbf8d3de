import type { JobRecord } from '../../domain/records.js';

/** The error of a job whose process died, or was cut off, while the job may have been running there. */
export const LEASE_EXPIRED = 'lease expired';

/** Whether the job may have killed its process: there is no way to know, so it is handled with care. */
export const isSuspect = (job: JobRecord): boolean => job.error_message === LEASE_EXPIRED;

/**
 * How far into a claim the pool may start, as the database knows it: jobs are numbered from 1 in claim order, and those
 * above `reach` have demonstrably not been started. `asked` is the reach that was last requested.
 */
export class ClaimMark {
  asked: number;

  constructor(
    readonly token: string,
    readonly size: number,
    public reach: number,
  ) {
    this.asked = reach;
  }
}

/** The mark as the claim statement sets it. */
export function markClaim(token: string, jobs: readonly JobRecord[], startable: number): ClaimMark {
  const suspect = jobs.findIndex(isSuspect);
  return new ClaimMark(token, jobs.length, Math.min(startable, suspect === -1 ? jobs.length : suspect, jobs.length));
}

/** Moves a mark to `reach`, or removes it if that is its whole claim. */
export interface MarkMove {
  readonly mark: ClaimMark;
  readonly reach: number;
}
