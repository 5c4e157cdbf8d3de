import type { CronFiringKind } from '@millrace/contract';
import { nextAfter, type Timetable } from './cron-expression.js';

/** What to do about an occurrence that is due: which kind of firing it is, and which occurrence follows. */
export interface FiringDecision {
  readonly kind: CronFiringKind;
  /** Null: there is no further occurrence. */
  readonly next: number | null;
}

/** One round of a scheduler over what is due. */
export interface SchedulerTick {
  readonly nowMs: number;
  /** Since when this scheduler has been running without interruption. */
  readonly watchedSinceMs: number;
}

/**
 * An occurrence can be late or missed. Late: a busy scheduler reaches it after its instant; nothing was missed, and
 * every occurrence gets its job, even if the schedule fires every second. Missed: no scheduler was running.
 *
 * Within this time an occurrence counts as late, whichever scheduler finds it: nobody stops and starts every process
 * within two seconds.
 */
export const LATE_MS = 2_000;
/**
 * The same if the scheduler that finds the occurrence has been running since before it was due: thousands of schedules
 * on the hour make a backlog, not an absence. Beyond this time the processes cannot keep up, and collapsing the backlog
 * is the way out.
 */
export const BACKLOG_MS = 30_000;

/**
 * `overdueMs`: how much later the scheduler is back than it intended to be when it went to sleep or sent its last
 * statement. Up to LATE_MS it has been running all the time; otherwise it was stopped or cut off, and its uninterrupted
 * run starts anew.
 */
export function tick(previous: SchedulerTick | null, nowMs: number, overdueMs: number): SchedulerTick {
  const unbroken = previous !== null && overdueMs <= LATE_MS;
  return { nowMs, watchedSinceMs: unbroken ? previous.watchedSinceMs : nowMs };
}

/** Missed occurrences collapse: the first of them fires as the catch-up for all, and the schedule resumes after now. */
export function decideFiring(timetable: Timetable, occurrenceMs: number, seen: SchedulerTick): FiringDecision {
  if (isMissed(occurrenceMs, seen)) return { kind: 'catch_up', next: nextAfter(timetable, seen.nowMs) };
  return { kind: 'on_time', next: nextAfter(timetable, occurrenceMs) };
}

function isMissed(occurrenceMs: number, { nowMs, watchedSinceMs }: SchedulerTick): boolean {
  return nowMs - occurrenceMs > (occurrenceMs >= watchedSinceMs ? BACKLOG_MS : LATE_MS);
}
