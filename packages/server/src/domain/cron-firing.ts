import type { CronFiringKind } from '@millrace/contract';
import { nextAfter, type Timetable } from './cron-expression.js';

/** What to do about an occurrence that is due: under which name to fire it, and which occurrence comes after it. */
export interface FiringDecision {
  readonly kind: CronFiringKind;
  /** Null: this was the last one. */
  readonly next: number | null;
}

/** One look of a scheduler at what is due. */
export interface Look {
  readonly nowMs: number;
  /** Since when the same scheduler has been there without a break. */
  readonly watchedSinceMs: number;
}

/**
 * An occurrence can be late or missed. Late: a busy scheduler comes to it after its instant; it has missed nothing, and
 * every occurrence gets its job, even of a schedule that fires every second. Missed: nobody was there.
 *
 * Within this time it was late, whoever finds it: no fleet is away and back again in two seconds.
 */
export const LATE_MS = 2_000;
/**
 * And within this time if the scheduler that finds it has been there since before it was due: thousands of schedules on
 * the hour make a backlog, not an absence. Beyond it the fleet cannot keep up, and to collapse what has piled up is the
 * way out.
 */
export const BACKLOG_MS = 30_000;

/**
 * `overdueMs`: by how much the scheduler comes later than it meant to, when it went to sleep or sent its last
 * statement. Up to LATE_MS it has been there all the time; otherwise it was stopped, or cut off, and its watch begins
 * anew.
 */
export function look(previous: Look | null, nowMs: number, overdueMs: number): Look {
  const unbroken = previous !== null && overdueMs <= LATE_MS;
  return { nowMs, watchedSinceMs: unbroken ? previous.watchedSinceMs : nowMs };
}

/** Missed occurrences collapse: the first of them fires as the catch-up of all, and the cadence goes on after now. */
export function decideFiring(timetable: Timetable, occurrenceMs: number, seen: Look): FiringDecision {
  if (isMissed(occurrenceMs, seen)) return { kind: 'catch_up', next: nextAfter(timetable, seen.nowMs) };
  return { kind: 'on_time', next: nextAfter(timetable, occurrenceMs) };
}

function isMissed(occurrenceMs: number, { nowMs, watchedSinceMs }: Look): boolean {
  return nowMs - occurrenceMs > (occurrenceMs >= watchedSinceMs ? BACKLOG_MS : LATE_MS);
}
