import { nextAfter } from './cron-expression.js';

export type FiringKind = 'on_time' | 'catch_up';

/** What to do about an occurrence that is due: under which name to fire it, and which occurrence comes after it. */
export interface FiringDecision {
  readonly kind: FiringKind;
  /** Null: this was the last one. */
  readonly next: number | null;
}

/**
 * Up to here an occurrence is late, beyond it was missed. A scheduler that is busy, or a fleet that changes hands, is late by less than a second;
 * it has missed nothing, and every occurrence gets its job, even of a schedule that fires every second. Nobody is away and back
 * again within two seconds.
 */
export const LATE_MS = 2_000;

/** Missed occurrences collapse: the first of them fires as the catch-up of all, and the cadence goes on after now. */
export function decideFiring(expr: string, occurrenceMs: number, nowMs: number): FiringDecision {
  if (nowMs - occurrenceMs <= LATE_MS) return { kind: 'on_time', next: nextAfter(expr, occurrenceMs) };
  return { kind: 'catch_up', next: nextAfter(expr, nowMs) };
}
