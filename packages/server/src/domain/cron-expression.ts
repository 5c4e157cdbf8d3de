import { CronDate, CronPattern, type CronOptions } from 'croner';
import { readCronFields, type CronFields } from './cron-fields.js';
import { firstShown, highWater, segmentsAfter, timeZone, wallAt, type TimeZone } from './time-zone.js';

/**
 * When a crontab expression fires. cron-fields.ts has the grammar; croner walks the calendar, in UTC by arithmetic (at
 * a fixed offset of zero), so that neither the process's TZ nor daylight saving plays any part. In another time zone
 * the same walk goes over wall times, and time-zone.ts says at which instants the clock shows them:
 *
 * - With a fixed hour, an expression fires when the clock first reaches a wall time or passes over it. What a clock
 *   change skips fires at the change, and what it repeats fires once.
 * - With a wildcard hour (every hour matches), it fires whenever the clock shows a matching wall time, so it follows
 *   elapsed time.
 *
 * Instants are milliseconds since 1970; occurrences are whole seconds, and strictly increase.
 */
export type ParsedCron =
  { readonly ok: true; readonly fields: CronFields } | { readonly ok: false; readonly error: string };

/** A crontab expression and the IANA name of the zone in whose wall time it is meant. */
export interface Timetable {
  readonly expr: string;
  readonly timezone: string;
}

interface Compiled {
  readonly everyHour: boolean;
  readonly pattern: CronPattern;
  readonly options: CronOptions;
}

/** Thrown for an expression that parseCron refuses, and for a time zone that this runtime does not know. */
export class UnreadableCron extends Error {
  override readonly name = 'UnreadableCron';
}

/** Whether the text is an expression that fires in some year and, if not, what is wrong with it. */
export function parseCron(expr: string): ParsedCron {
  const read = readCronFields(expr);
  if (!read.ok || hasDay(read.fields)) return read;
  return { ok: false, error: 'never fires: none of its months has any of its days' };
}

export const isTimeZone = (name: string): boolean => timeZone(name) !== null;

/** The first occurrence strictly after the instant, or null if there is none. Throws UnreadableCron. */
export function nextAfter({ expr, timezone }: Timetable, instantMs: number): number | null {
  const compiled = compiledOf(expr);
  if (timezone === 'UTC') return nextWall(compiled, instantMs);
  const zone = timeZone(timezone);
  if (!zone) throw new UnreadableCron(`not a time zone: "${timezone}"`);
  const after = Math.floor(instantMs);
  return compiled.everyHour ? nextElapsed(compiled, zone, after) : nextFixed(compiled, zone, after);
}

/** The high-water mark makes it strict: wall times up to there have fired, or would have at an earlier jump. */
function nextFixed(compiled: Compiled, zone: TimeZone, instant: number): number | null {
  const wall = nextWall(compiled, highWater(zone, instant));
  return wall === null ? null : firstShown(zone, wall);
}

/**
 * Near the instant segment by segment, since wall times may come again; beyond that only those that were never shown
 * are of interest.
 */
function nextElapsed(compiled: Compiled, zone: TimeZone, instant: number): number | null {
  let last = instant;
  for (const { start, end, offset } of segmentsAfter(zone, instant)) {
    const wall = nextWall(compiled, start + offset - 1);
    if (wall !== null && wall - offset < end) return wall - offset;
    last = end - 1;
  }
  let wall = nextWall(compiled, highWater(zone, last));
  while (wall !== null) {
    const found = firstShown(zone, wall);
    const shown = wallAt(zone, found);
    if (shown === wall) return found;
    wall = nextWall(compiled, shown - 1);
  }
  return null;
}

/** The first match strictly after a wall time. */
function nextWall(compiled: Compiled, wallMs: number): number | null {
  let from = wallMs;
  for (;;) {
    const found = walkFrom(compiled, from);
    const march = firstOfMarchAfter(from);
    if (found === null || found < march) return found;
    from = march - 1000;
  }
}

function walkFrom({ pattern, options }: Compiled, wallMs: number): number | null {
  return new CronDate(new Date(wallMs), 0).increment(pattern, options, false)?.getTime() ?? null;
}

/**
 * Looking for a 30th or 31st of February, the library ends up on the second or third of March and skips any earlier
 * occurrence in March. No other month is short by more than a day. So no walk is trusted across the first of March:
 * the next walk starts there.
 */
function firstOfMarchAfter(wallMs: number): number {
  const next = wallMs + 1000;
  const year = new Date(next).getUTCFullYear();
  const march = Date.UTC(year, 2, 1);
  return march > next ? march : Date.UTC(year + 1, 2, 1);
}

/** Up to n occurrences after the instant. */
export function nextN(timetable: Timetable, instantMs: number, n: number): number[] {
  const found: number[] = [];
  let at = nextAfter(timetable, instantMs);
  while (at !== null && found.push(at) < n) at = nextAfter(timetable, at);
  return found;
}

/**
 * Compiling an expression takes several times as long as evaluating it, and a scheduler evaluates the same expressions
 * again and again. The cache takes about 25 MB at most; the oldest entry is evicted first.
 */
const KEPT = 10_000;
const kept = new Map<string, Compiled>();

function compiledOf(expr: string): Compiled {
  const known = kept.get(expr);
  if (known) return known;
  const parsed = parseCron(expr);
  if (!parsed.ok) throw new UnreadableCron(`not a crontab expression: "${expr}" ${parsed.error}`);
  const compiled = compile(parsed.fields);
  for (const oldest of kept.keys()) {
    if (kept.size < KEPT) break;
    kept.delete(oldest);
  }
  kept.set(expr, compiled);
  return compiled;
}

function compile(fields: CronFields): Compiled {
  const pattern = new CronPattern(patternText(fields));
  // Ten thousand flags, most of a pattern's memory, that are never read unless the year is restricted.
  if (fields.years === null) pattern.year = [];
  return { everyHour: fields.hours.length === 24, pattern, options: { domAndDow: !fields.eitherDay } };
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

/** The library gets plain lists of what has been parsed here, so nothing depends on its own grammar. */
function patternText(fields: CronFields): string {
  const { seconds, minutes, hours, days, months, weekdays, years, eitherDay } = fields;
  const listOrStar = (list: readonly number[], all: number): string => (list.length === all ? '*' : list.join());
  return [
    listOrStar(seconds, 60),
    listOrStar(minutes, 60),
    listOrStar(hours, 24),
    // The library ignores a day field that is a star, which is right only if the other one must match as well.
    eitherDay ? days.join() : listOrStar(days, 31),
    listOrStar(months, 12),
    eitherDay ? weekdays.join() : listOrStar(weekdays, 7),
    years?.join() ?? '*',
  ].join(' ');
}
