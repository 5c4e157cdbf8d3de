import fc from 'fast-check';
import { expect, it } from 'vitest';
import { nextN, parseCron } from '../../src/domain/cron-expression.js';
import { BACKLOG_MS, decideFiring, LATE_MS, tick } from '../../src/domain/cron-firing.js';
import { cases } from '../support/cases.js';

/**
 * Expressions against a model that shares no code with them: the generator makes each field as text and, alongside, as
 * the set of numbers it stands for, and the model tries one day after the other with JavaScript's own calendar.
 */
interface Field {
  readonly text: string;
  readonly matches: ReadonlySet<number>;
}

interface Expression {
  readonly text: string;
  readonly second: Field;
  readonly minute: Field;
  readonly hour: Field;
  readonly day: Field;
  readonly month: Field;
  readonly weekday: Field;
  readonly year: Field | null;
}

const MONTHS = ['', 'JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', '7'];

const stepped = (low: number, high: number, step: number): number[] =>
  Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, n) => low + n * step);

function item(low: number, high: number, names: readonly string[] | null): fc.Arbitrary<Field> {
  const value = fc.integer({ min: low, max: high });
  const spelt = (n: number, byName: boolean): string => (byName && names ? names[n]! : String(n));
  const pair = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const step = fc.integer({ min: 1, max: Math.max(2, Math.floor((high - low) / 2)) });
  const star = { text: '*', matches: new Set(stepped(low, high, 1)) };
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(star) },
    step.map((n) => ({ text: `*/${n}`, matches: new Set(stepped(low, high, n)) })),
    fc.tuple(value, fc.boolean()).map(([n, byName]) => ({ text: spelt(n, byName), matches: new Set([n]) })),
    fc.tuple(pair, fc.boolean()).map(([[a, b], byName]) => ({
      text: `${spelt(a, byName)}-${spelt(b, byName)}`,
      matches: new Set(stepped(a, b, 1)),
    })),
    fc.tuple(pair, step).map(([[a, b], n]) => ({ text: `${a}-${b}/${n}`, matches: new Set(stepped(a, b, n)) })),
  );
}

const field = (low: number, high: number, names: readonly string[] | null = null): fc.Arbitrary<Field> =>
  fc.array(item(low, high, names), { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map((item) => item.text).join(','),
    matches: new Set(items.flatMap((item) => [...item.matches])),
  }));

const SECOND_ZERO: Field = { text: '0', matches: new Set([0]) };

const expression: fc.Arbitrary<Expression> = fc
  .record({
    second: fc.option(field(0, 59), { nil: null }),
    minute: field(0, 59),
    hour: field(0, 23),
    day: field(1, 31),
    month: field(1, 12, MONTHS),
    weekday: field(0, 7, WEEKDAYS),
    year: fc.option(field(2020, 2040), { nil: null }),
  })
  .map(({ second, year, ...rest }) => {
    const first = second ?? SECOND_ZERO;
    const shown = second !== null || year !== null ? [first, ...Object.values(rest)] : Object.values(rest);
    const text = [...shown, ...(year ? [year] : [])].map((field) => field.text).join(' ');
    return { text, second: first, year, ...rest };
  });

/** Vixie's rule: a day field that begins with a star counts as unrestricted, and then both fields must match. */
function matchesDay({ day, weekday, month, year }: Expression, date: Date): boolean {
  if (!month.matches.has(date.getUTCMonth() + 1)) return false;
  // The generator's years end earlier than the product's; a star stands for all of them.
  if (year && !year.text.split(',').includes('*') && !year.matches.has(date.getUTCFullYear())) return false;
  const byDay = day.matches.has(date.getUTCDate());
  const byWeekday = weekday.matches.has(date.getUTCDay()) || (date.getUTCDay() === 0 && weekday.matches.has(7));
  const either = !day.text.startsWith('*') && !weekday.text.startsWith('*');
  return either ? byDay || byWeekday : byDay && byWeekday;
}

const DAY_MS = 86_400_000;
const HORIZON_DAYS = 366 * 45;

const ordered = (values: ReadonlySet<number>): number[] => [...values].sort((a, b) => a - b);

function* modelOccurrences(expr: Expression, from: number): Generator<number> {
  const [hours, minutes, seconds] = [expr.hour, expr.minute, expr.second].map((field) => ordered(field.matches));
  const firstDay = Math.floor(from / DAY_MS) * DAY_MS;
  for (let n = 0; n < HORIZON_DAYS; n++) {
    const day = firstDay + n * DAY_MS;
    if (!matchesDay(expr, new Date(day))) continue;
    for (const hour of hours!) {
      for (const minute of minutes!) {
        for (const second of seconds!) {
          const occurrence = day + ((hour * 60 + minute) * 60 + second) * 1000;
          if (occurrence > from) yield occurrence;
        }
      }
    }
  }
}

function take(occurrences: Generator<number>, n: number): number[] {
  const found: number[] = [];
  for (const occurrence of occurrences) if (found.push(occurrence) === n) break;
  return found;
}

const instant = fc.oneof(
  fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2041, 0, 1) }),
  // Around the ends of days, months and years, where mistakes hide.
  fc
    .tuple(fc.integer({ min: 2020, max: 2040 }), fc.integer({ min: 0, max: 11 }), fc.integer({ min: -2, max: 2 }))
    .map(([year, month, seconds]) => Date.UTC(year, month, 1) + seconds * 1000),
);

/** In the product a step over the star of the year counts from 1970; the generator, which starts later, omits these. */
const sameYears = (expr: Expression): boolean => !(expr.year?.text ?? '').includes('*/');

it('agrees with the model on the next three occurrences of any expression', () => {
  fc.assert(
    fc.property(expression.filter(sameYears), instant, (expr, from) => {
      const expected = take(modelOccurrences(expr, from), 3);
      const parsed = parseCron(expr.text);
      if (!parsed.ok) expect(expected, `${expr.text} was refused: ${parsed.error}`).toEqual([]);
      else
        expect(nextN({ expr: expr.text, timezone: 'UTC' }, from, expected.length || 1).slice(0, 3), expr.text).toEqual(
          expected,
        );
    }),
    { numRuns: cases(600) },
  );
});

it('fires late occurrences one by one, and missed ones once', () => {
  const lateness = fc.oneof(
    fc.integer({ min: 0, max: 4 * LATE_MS }),
    fc.integer({ min: 0, max: 2 * BACKLOG_MS }),
    fc.constantFrom(LATE_MS, LATE_MS + 1, BACKLOG_MS, BACKLOG_MS + 1),
  );
  fc.assert(
    fc.property(expression.filter(sameYears), instant, lateness, fc.boolean(), (expr, from, lateMs, wasThere) => {
      const occurrences = take(modelOccurrences(expr, from), 2);
      const [occurrence, following = null] = occurrences;
      fc.pre(occurrence !== undefined && parseCron(expr.text).ok);
      const nowMs = occurrence + lateMs;
      const expected =
        lateMs <= (wasThere ? BACKLOG_MS : LATE_MS)
          ? { kind: 'on_time', next: following }
          : { kind: 'catch_up', next: take(modelOccurrences(expr, nowMs), 1)[0] ?? null };
      const watchedSinceMs = wasThere ? occurrence : occurrence + 1;
      expect(decideFiring({ expr: expr.text, timezone: 'UTC' }, occurrence, { nowMs, watchedSinceMs })).toEqual(
        expected,
      );
    }),
    { numRuns: cases(300) },
  );
});

it('counts a scheduler as running while it is at most two seconds later than intended', () => {
  const first = tick(null, 1_000_000, Infinity);
  expect(first).toEqual({ nowMs: 1_000_000, watchedSinceMs: 1_000_000 });
  const second = tick(first, 1_007_000, LATE_MS);
  expect(second).toEqual({ nowMs: 1_007_000, watchedSinceMs: 1_000_000 });
  expect(tick(second, 1_008_000, LATE_MS + 1)).toEqual({ nowMs: 1_008_000, watchedSinceMs: 1_008_000 });
});
