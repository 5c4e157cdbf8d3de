import { readCronFields, type CronFields } from './cron-fields.js';
import { firstShown, highWater, segmentsAfter, wallAt, type TimeZone } from './time-zone.js';

/**
 * When a crontab expression fires in a time zone, given when it would in UTC. cron-fields.ts has the grammar; whoever
 * walks the calendar says which wall times match, and time-zone.ts at which instants the clock shows them:
 *
 * - With a fixed hour, an expression fires when the clock first reaches a wall time or passes over it. What a clock
 *   change skips fires at the change, and what it repeats fires once.
 * - With a wildcard hour (every hour matches), it fires whenever the clock shows a matching wall time, so it follows
 *   elapsed time.
 *
 * Instants are milliseconds since 1970; occurrences are whole seconds, and strictly increase.
 */
export interface WallTimes {
  readonly everyHour: boolean;
  /** The first match strictly after a wall time; null if there is none. */
  next(wallMs: number): number | null;
}

export type ParsedCron =
  { readonly ok: true; readonly fields: CronFields } | { readonly ok: false; readonly error: string };

/** What is said of a time zone that nobody knows, and of a schedule that has no future. */
export const NOT_A_ZONE = 'must be a name of the IANA time zone database, such as Europe/Berlin';
export const NEVER_AGAIN = 'never fires: its last occurrence has passed';

/** Whether the text is an expression that fires in some year and, if not, what is wrong with it. */
export function parseCron(expr: string): ParsedCron {
  const read = readCronFields(expr);
  if (!read.ok || hasDay(read.fields)) return read;
  return { ok: false, error: 'never fires: none of its months has any of its days' };
}

const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Whether any year has such a day. A search for 30 February would go through four hundred years before it gave up, and
 * one request could block the process meanwhile. Weekdays need no check: every date falls on each of them in some year.
 */
function hasDay({ days, months, eitherDay }: CronFields): boolean {
  const first = days[0] ?? Infinity;
  return eitherDay || months.some((month) => first <= (DAYS_IN_MONTH[month - 1] ?? 0));
}

/** The first occurrence strictly after the instant, or null if there is none. */
export function occurrenceAfter(walls: WallTimes, zone: TimeZone, instantMs: number): number | null {
  const after = Math.floor(instantMs);
  return walls.everyHour ? nextElapsed(walls, zone, after) : nextFixed(walls, zone, after);
}

/** The high-water mark makes it strict: wall times up to there have fired, or would have at an earlier jump. */
function nextFixed(walls: WallTimes, zone: TimeZone, instant: number): number | null {
  const wall = walls.next(highWater(zone, instant));
  return wall === null ? null : firstShown(zone, wall);
}

/**
 * Near the instant segment by segment, since wall times may come again; beyond that only those that were never shown
 * are of interest.
 */
function nextElapsed(walls: WallTimes, zone: TimeZone, instant: number): number | null {
  let last = instant;
  for (const { start, end, offset } of segmentsAfter(zone, instant)) {
    const wall = walls.next(start + offset - 1);
    if (wall !== null && wall - offset < end) return wall - offset;
    last = end - 1;
  }
  let wall = walls.next(highWater(zone, last));
  while (wall !== null) {
    const found = firstShown(zone, wall);
    const shown = wallAt(zone, found);
    if (shown === wall) return found;
    wall = walls.next(shown - 1);
  }
  return null;
}
