import { CronDate, CronPattern, type CronOptions } from 'croner';
import { readCronFields, type CronFields } from './cron-fields.js';

/**
 * When a crontab expression fires. cron-fields.ts has the grammar; croner walks the calendar, in UTC by arithmetic (at
 * a fixed offset of zero), so that neither the process's TZ nor daylight saving plays any part.
 *
 * Instants are milliseconds since 1970; occurrences are whole seconds.
 */
export type ParsedCron =
  { readonly ok: true; readonly fields: CronFields } | { readonly ok: false; readonly error: string };

interface Compiled {
  readonly pattern: CronPattern;
  readonly options: CronOptions;
}

/** Thrown for an expression that parseCron refuses. */
export class UnreadableCron extends Error {
  override readonly name = 'UnreadableCron';
}

/** Whether the text is an expression that fires in some year and, if not, what is wrong with it. */
export function parseCron(expr: string): ParsedCron {
  const read = readCronFields(expr);
  if (!read.ok || hasDay(read.fields)) return read;
  return { ok: false, error: 'never fires: none of its months has any of its days' };
}

/** The first occurrence strictly after the instant, or null if there is none. Throws UnreadableCron. */
export function nextAfter(expr: string, instantMs: number): number | null {
  const compiled = compiledOf(expr);
  let from = instantMs;
  for (;;) {
    const found = walkFrom(compiled, from);
    const march = firstOfMarchAfter(from);
    if (found === null || found < march) return found;
    from = march - 1000;
  }
}

function walkFrom({ pattern, options }: Compiled, instantMs: number): number | null {
  return new CronDate(new Date(instantMs), 0).increment(pattern, options, false)?.getTime() ?? null;
}

/**
 * Looking for a 30th or 31st of February, the library ends up on the second or third of March and skips any earlier
 * occurrence in March. No other month is short by more than a day. So no walk is trusted across the first of March:
 * the next walk starts there.
 */
function firstOfMarchAfter(instantMs: number): number {
  const next = instantMs + 1000;
  const year = new Date(next).getUTCFullYear();
  const march = Date.UTC(year, 2, 1);
  return march > next ? march : Date.UTC(year + 1, 2, 1);
}

/** Up to n occurrences after the instant. */
export function nextN(expr: string, instantMs: number, n: number): number[] {
  const found: number[] = [];
  let at = nextAfter(expr, instantMs);
  while (at !== null && found.push(at) < n) at = nextAfter(expr, at);
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
  return { pattern, options: { domAndDow: !fields.eitherDay } };
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
