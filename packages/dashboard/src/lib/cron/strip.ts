import type { CronFiring, CronFiringKind } from '@millrace/contract';

/** One mark of the strip: everything that fired within its share of the time. */
export interface Mark {
  /** Where its share begins, from 0 (a day ago) to 1 (now). */
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** The least ordinary kind among them. */
  readonly kind: CronFiringKind;
  /** The newest of them; null: it made no job. */
  readonly jobId: string | null;
  readonly workflowId: string | null;
}

export interface Strip {
  readonly marks: readonly Mark[];
  /** How many shares the strip has. */
  readonly shares: number;
  /** Up to here, from 0 to 1, nothing is known: firings that old were not fetched, or are not kept. */
  readonly unknownTo: number;
}

export const STRIP_MS = 24 * 3_600_000;
/** Ten minutes each: a schedule that fires every second still has a bounded number of marks. */
export const STRIP_SHARES = 144;

const WEIGHT: Readonly<Record<CronFiringKind, number>> = { on_time: 0, triggered: 1, catch_up: 2, skipped: 3 };

/**
 * The last 24 hours of a schedule. `firings` are the newest ones, newest first; `isComplete` says that there are no
 * older ones.
 */
export function stripOf(
  firings: readonly Pick<CronFiring, 'fired_at' | 'kind' | 'job_id' | 'workflow_id'>[],
  isComplete: boolean,
  now: number,
): Strip {
  const start = now - STRIP_MS;
  const share = STRIP_MS / STRIP_SHARES;
  const marks = new Map<number, Mark>();
  for (const { fired_at, kind, job_id, workflow_id } of firings) {
    const instant = Date.parse(fired_at);
    if (Number.isNaN(instant) || instant < start) continue;
    // What fired a moment after we last looked at the clock belongs into the last share.
    const index = Math.min(STRIP_SHARES - 1, Math.floor((instant - start) / share));
    const known = marks.get(index);
    const from = start + index * share;
    marks.set(index, {
      at: index / STRIP_SHARES,
      from,
      to: from + share,
      count: (known?.count ?? 0) + 1,
      kind: known !== undefined && WEIGHT[known.kind] >= WEIGHT[kind] ? known.kind : kind,
      jobId: known?.jobId ?? job_id,
      workflowId: known?.workflowId ?? workflow_id,
    });
  }
  const oldest = firings.at(-1);
  const reach = oldest === undefined ? start : Date.parse(oldest.fired_at);
  return {
    marks: [...marks.values()].sort((one, other) => one.at - other.at),
    shares: STRIP_SHARES,
    unknownTo: isComplete ? 0 : Math.min(1, Math.max(0, (reach - start) / STRIP_MS)),
  };
}
