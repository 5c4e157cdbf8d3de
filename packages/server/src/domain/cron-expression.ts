import { CronDate, CronPattern, type CronOptions } from 'croner';
import { occurrenceAfter, parseCron, timeZone, type CronFields, type WallTimes } from '@millrace/sdk/rules';

/**
 * When a crontab expression fires. The grammar and the meeting of wall times with clocks are rules that the fake server
 * shares (packages/sdk/src/rules); croner walks the calendar, in UTC by arithmetic (at a fixed offset of zero), so that
 * neither the process's TZ nor daylight saving plays any part. In another time zone the same walk goes over wall times.
 */
export { parseCron };

/** A crontab expression and the IANA name of the zone in whose wall time it is meant. */
export interface Timetable {
  readonly expr: string;
  readonly timezone: string;
}

interface Compiled {
  readonly pattern: CronPattern;
  readonly options: CronOptions;
}

/** Thrown for an expression that parseCron refuses, and for a time zone that this runtime does not know. */
export class UnreadableCron extends Error {
  override readonly name = 'UnreadableCron';
}

export const isTimeZone = (name: string): boolean => timeZone(name) !== null;

/** The first occurrence strictly after the instant, or null if there is none. Throws UnreadableCron. */
export function nextAfter({ expr, timezone }: Timetable, instantMs: number): number | null {
  const compiled = compiledOf(expr);
  if (timezone === 'UTC') return compiled.next(instantMs);
  const zone = timeZone(timezone);
  if (!zone) throw new UnreadableCron(`not a time zone: "${timezone}"`);
  return occurrenceAfter(compiled, zone, instantMs);
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
const kept = new Map<string, WallTimes>();

function compiledOf(expr: string): WallTimes {
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

function compile(fields: CronFields): WallTimes {
  const pattern = new CronPattern(patternText(fields));
  // Ten thousand flags, most of a pattern's memory, that are never read unless the year is restricted.
  if (fields.years === null) pattern.year = [];
  const compiled: Compiled = { pattern, options: { domAndDow: !fields.eitherDay } };
  return { everyHour: fields.hours.length === 24, next: (wallMs) => nextWall(compiled, wallMs) };
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
