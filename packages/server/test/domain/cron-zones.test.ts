import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTimeZone, nextAfter, nextN, UnreadableCron } from '../../src/domain/cron-expression.js';
import { cases } from '../support/cases.js';

const show = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const list = (expr: string, timezone: string, from: string, n: number): string[] =>
  nextN({ expr, timezone }, Date.parse(from), n).map(show);

describe('a fixed hour', () => {
  it('is wall time, summer and winter', () => {
    expect(list('0 9 * * *', 'Europe/Berlin', '2026-01-15T00:00:00Z', 1)).toEqual(['2026-01-15T08:00:00Z']);
    expect(list('0 9 * * *', 'Europe/Berlin', '2026-07-15T00:00:00Z', 1)).toEqual(['2026-07-15T07:00:00Z']);
    expect(list('0 9 * * *', 'Asia/Kathmandu', '2026-07-15T00:00:00Z', 1)).toEqual(['2026-07-15T03:15:00Z']);
    expect(list('0 0 1 * *', 'Pacific/Kiritimati', '2026-07-15T00:00:00Z', 1)).toEqual(['2026-07-31T10:00:00Z']);
    expect(list('0 0 * * MON', 'America/Los_Angeles', '2026-07-15T00:00:00Z', 1)).toEqual(['2026-07-20T07:00:00Z']);
  });

  it('that a clock change skips fires at the change', () => {
    // From 02:00 to 03:00 at 07:00 UTC.
    expect(list('30 2 * * *', 'America/New_York', '2026-03-07T00:00:00Z', 3)).toEqual([
      '2026-03-07T07:30:00Z',
      '2026-03-08T07:00:00Z',
      '2026-03-09T06:30:00Z',
    ]);
  });

  it('fires once at the change, whatever it skips', () => {
    const expected = ['2026-03-08T06:30:00Z', '2026-03-08T07:00:00Z', '2026-03-08T07:30:00Z'];
    expect(list('30,45 1,2,3 * * *', 'America/New_York', '2026-03-08T06:00:00Z', 4)).toEqual([
      '2026-03-08T06:30:00Z',
      '2026-03-08T06:45:00Z',
      '2026-03-08T07:00:00Z',
      '2026-03-08T07:30:00Z',
    ]);
    expect(list('*/30 1-3 * * *', 'America/New_York', '2026-03-08T06:00:00Z', 3)).toEqual(expected);
  });

  it('that a clock change repeats fires once, the first time', () => {
    // From 02:00 back to 01:00 at 06:00 UTC.
    expect(list('30 1 * * *', 'America/New_York', '2026-10-31T00:00:00Z', 3)).toEqual([
      '2026-10-31T05:30:00Z',
      '2026-11-01T05:30:00Z',
      '2026-11-02T06:30:00Z',
    ]);
    for (const within of ['2026-11-01T05:30:00Z', '2026-11-01T06:15:00Z', '2026-11-01T06:30:00Z'])
      expect(list('30 1 * * *', 'America/New_York', within, 1)).toEqual(['2026-11-02T06:30:00Z']);
  });

  it('fires on a day that does not exist as soon as the next one begins', () => {
    // Samoa went from 29 to 31 December 2011, and half an hour is a change on Lord Howe Island.
    expect(list('0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00:00Z', 3)).toEqual([
      '2011-12-29T22:00:00Z',
      '2011-12-30T10:00:00Z',
      '2011-12-30T22:00:00Z',
    ]);
    expect(list('15 2 4 10 *', 'Australia/Lord_Howe', '2026-10-01T00:00:00Z', 1)).toEqual(['2026-10-03T15:30:00Z']);
  });

  it('counts every spelling of hours that leaves one out', () => {
    expect(list('0 */2 * * *', 'America/New_York', '2026-03-08T04:59:00Z', 3)).toEqual([
      '2026-03-08T05:00:00Z',
      '2026-03-08T07:00:00Z',
      '2026-03-08T08:00:00Z',
    ]);
  });
});

describe('a wildcard hour', () => {
  it.each(['30 * * * *', '30 */1 * * *', '30 0-23 * * *'])('follows elapsed time: %s', (expr) => {
    for (const day of ['2026-03-08', '2026-11-01']) {
      const from = Date.parse(`${day}T00:00:00Z`);
      const expected = Array.from({ length: 24 }, (_, hour) => show(from + 1_800_000 + hour * 3_600_000));
      expect(list(expr, 'America/New_York', `${day}T00:00:00Z`, 24)).toEqual(expected);
    }
  });

  it('shows what a clock change repeats twice, and does not make up for what it skips', () => {
    // The first of November has 25 hours, the eighth of March 23.
    const count = (day: string, from: string, to: string): number =>
      list(`0 * ${day} * *`, 'America/New_York', from, 30).filter((each) => each < to).length;
    expect(count('1', '2026-11-01T00:00:00Z', '2026-11-03')).toBe(25);
    expect(count('8', '2026-03-08T00:00:00Z', '2026-03-10')).toBe(23);
    expect(list('0 * 30 12 * ', 'Pacific/Apia', '2011-12-01T00:00:00Z', 1)).toEqual(['2012-12-29T10:00:00Z']);
  });
});

describe('zones', () => {
  it.each(['UTC', 'utc', 'Etc/UTC', 'Europe/Berlin', 'europe/berlin', 'America/Argentina/Buenos_Aires', 'US/Eastern'])(
    'know %s',
    (name) => expect(isTimeZone(name)).toBe(true),
  );
  it.each(['Etc/GMT+5', 'EST5EDT', 'GB-Eire', 'Asia/Ho_Chi_Minh', 'America/Port-au-Prince'])('know %s', (name) =>
    expect(isTimeZone(name)).toBe(true),
  );
  it.each(['', ' ', 'Mars/Olympus', 'PST', 'ACT', 'SystemV/EST5', '+01:00', 'UTC+1', 'Europe', 'Europe/', '__proto__'])(
    'do not know %j',
    (name) => expect(isTimeZone(name)).toBe(false),
  );

  it('that are unknown are an error of their own', () => {
    expect(() => nextAfter({ expr: '* * * * *', timezone: 'Mars/Olympus' }, 0)).toThrow(UnreadableCron);
  });

  it('by any name for UTC are UTC', () => {
    for (const expr of ['0 9 * * *', '*/7 * * * *', '0 0 0 29 2 * *'])
      for (const zone of ['Etc/UTC', 'utc', 'GMT', 'Africa/Abidjan'])
        expect(nextN({ expr, timezone: zone }, 1e12, 9)).toEqual(nextN({ expr, timezone: 'UTC' }, 1e12, 9));
  });
});

/**
 * The oracle knows nothing of offsets or jumps. It asks the runtime what the clock shows, minute by minute, and reads
 * the rule off that: with a fixed hour, fire at the first minute whose clock shows a match or has just passed one that
 * it never showed before; with a wildcard hour, fire at every minute whose clock shows a match.
 */
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const ZONES = Intl.supportedValuesOf('timeZone');

const formats = new Map<string, Intl.DateTimeFormat>();

function shown(zone: string, instant: number): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' });
  formats.set(zone, format);
  const [day, month, year, hour, minute, second] = format.format(instant).match(/\d+/g)!.map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second);
}

interface Fields {
  readonly text: string;
  readonly hours: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly everyHour: boolean;
}

const matches = ({ hours, minutes }: Fields, wall: number): boolean => {
  const date = new Date(wall);
  return hours.has(date.getUTCHours()) && minutes.has(date.getUTCMinutes());
};

function oracle(fields: Fields, clock: readonly number[], start: number): number[] {
  const fired: number[] = [];
  let highest = clock[0]!;
  for (let n = 1; n < clock.length; n++) {
    const wall = clock[n]!;
    let hit = fields.everyHour && matches(fields, wall);
    for (let passed = highest + MINUTE; !fields.everyHour && passed <= wall; passed += MINUTE)
      hit ||= matches(fields, passed);
    highest = Math.max(highest, wall);
    if (hit) fired.push(start + n * MINUTE);
  }
  return fired;
}

/** When the zone changes its clock between two instants, to the day. */
function daysOfChange(zone: string, start: number, end: number): number[] {
  const found: number[] = [];
  let before = shown(zone, start);
  for (let day = start; day < end; day += DAY) {
    const after = shown(zone, day + DAY);
    if (after - before !== DAY) found.push(day);
    before = after;
  }
  return found;
}

const setOf = (max: number, most: number): fc.Arbitrary<ReadonlySet<number>> =>
  fc.uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength: most }).map((values) => new Set(values));
const fields: fc.Arbitrary<Fields> = fc
  .tuple(fc.option(setOf(23, 6), { nil: null, freq: 2 }), setOf(59, 4))
  .map(([hours, minutes]) => ({
    text: `${[...minutes].join()} ${hours ? [...hours].join() : '*'} * * *`,
    hours: hours ?? new Set(Array.from({ length: 24 }, (_, n) => n)),
    minutes,
    everyHour: hours === null,
  }));

/** Hours around a change, where the rules differ. */
const early: fc.Arbitrary<Fields> = fc.tuple(setOf(3, 3), setOf(59, 3)).map(([hours, minutes]) => ({
  text: `${[...minutes].join()} ${[...hours].join()} * * *`,
  hours,
  minutes,
  everyHour: false,
}));

/** What the clock shows at every minute. Within an hour that it took for an hour, it need not be asked. */
function clockFrom(zone: string, start: number, days: number): number[] {
  const clock = [shown(zone, start)];
  for (let hour = start; hour < start + days * DAY; hour += HOUR) {
    const [from, to] = [clock.at(-1)!, shown(zone, hour + HOUR)];
    const isSteady = to - from === HOUR;
    for (let passed = MINUTE; passed < HOUR; passed += MINUTE)
      clock.push(isSteady ? from + passed : shown(zone, hour + passed));
    clock.push(to);
  }
  return clock;
}

function holds(zone: string, start: number, tries: readonly Fields[]): void {
  const days = 2;
  const clock = clockFrom(zone, start, days);
  for (const each of tries) {
    const expected = oracle(each, clock, start);
    const found: number[] = [];
    for (let at = start; ;) {
      const next = nextAfter({ expr: each.text, timezone: zone }, at)!;
      expect(next, `${each.text} in ${zone} goes on`).toBeGreaterThan(at);
      if (next > start + days * DAY) break;
      found.push((at = next));
    }
    expect(found.map(show), `${each.text} in ${zone}`).toEqual(expected.map(show));
  }
}

it('agrees with the clock of every zone around a change of some year', () => {
  const years = fc.integer({ min: 1975, max: 2040 });
  const every = Math.max(1, Math.round(ZONES.length / cases(ZONES.length)));
  for (const zone of ZONES.filter((_, n) => n % every === 0)) {
    fc.assert(
      fc.property(
        years,
        fc.nat(),
        fc.array(fc.oneof(fields, early), { minLength: 6, maxLength: 6 }),
        (year, pick, tries) => {
          const [first, last] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)];
          const changes = daysOfChange(zone, first, last);
          // The day before must be steady: the oracle does not know what was shown then.
          const start = changes.length > 0 ? changes[pick % changes.length]! - DAY / 2 : first + (pick % 365) * DAY;
          fc.pre(shown(zone, start) - shown(zone, start - DAY) === DAY);
          holds(zone, start, tries);
        },
      ),
      { numRuns: 1 },
    );
  }
});

it('agrees with the clock from any instant within a change', () => {
  const names = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'Asia/Beirut'];
  const changes = names.flatMap((zone) =>
    daysOfChange(zone, Date.UTC(2025, 0, 1), Date.UTC(2027, 0, 1)).map((day) => {
      const start = day - DAY;
      return { zone, start, clock: clockFrom(zone, start, 5) };
    }),
  );
  expect(changes.length).toBeGreaterThanOrEqual(20);
  fc.assert(
    fc.property(
      fc.constantFrom(...changes),
      fc.oneof(fields, early),
      fc.nat(2 * DAY),
      ({ zone, start, clock }, each, after) => {
        const expected = oracle(each, clock, start).find((instant) => instant > start + after);
        const next = nextAfter({ expr: each.text, timezone: zone }, start + after);
        expect(next, `${each.text} in ${zone}`).toBe(expected);
      },
    ),
    { numRuns: cases(500) },
  );
});
