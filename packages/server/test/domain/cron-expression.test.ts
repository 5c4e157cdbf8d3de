import { describe, expect, it } from 'vitest';
import { cpuMs } from '../support/cpu-time.js';
import * as cron from '../../src/domain/cron-expression.js';

const { parseCron } = cron;
const nextAfter = (expr: string, from: number, timezone = 'UTC') => cron.nextAfter({ expr, timezone }, from);
const nextN = (expr: string, from: number, n: number, timezone = 'UTC') => cron.nextN({ expr, timezone }, from, n);

const at = (text: string): number => Date.parse(text);
const after = (expr: string, from: string): string | null => {
  const next = nextAfter(expr, at(from));
  return next === null ? null : new Date(next).toISOString().replace('.000Z', 'Z');
};
const list = (expr: string, from: string, n: number): string[] =>
  nextN(expr, at(from), n).map((occurrence) => new Date(occurrence).toISOString().slice(0, 19));
const refusal = (expr: string): string => {
  const parsed = parseCron(expr);
  return parsed.ok ? 'accepted' : parsed.error;
};

// A Thursday.
const FROM = '2026-01-15T10:30:15Z';

describe('fields', () => {
  it.each([
    ['*/15 * * * *', '2026-01-15T10:45:00Z'],
    ['30 10 * * *', '2026-01-16T10:30:00Z'],
    ['0 9 * * 1-5', '2026-01-16T09:00:00Z'],
    ['0 0 1 */3 *', '2026-04-01T00:00:00Z'],
    ['5,10-12,50-59/5 * * * *', '2026-01-15T10:50:00Z'],
    ['*/20 * * * * *', '2026-01-15T10:30:20Z'],
    ['15 30 10 * * *', '2026-01-16T10:30:15Z'],
    ['0 0 12 1 1 * 2030', '2030-01-01T12:00:00Z'],
    ['0 0 0 1 1 * 2027-2031/2,2040', '2027-01-01T00:00:00Z'],
    ['59 59 23 31 12 * *', '2026-12-31T23:59:59Z'],
    ['  0\t9 * * *\n', '2026-01-16T09:00:00Z'],
    ['007 9 * * *', '2026-01-16T09:07:00Z'],
    ['0 */24 * * *', '2026-01-16T00:00:00Z'],
  ])('%j fires next at %s', (expr, next) => {
    expect(refusal(expr)).toBe('accepted');
    expect(after(expr, FROM)).toBe(next);
  });

  it.each([
    ['@hourly', '2026-01-15T11:00:00Z'],
    ['@daily', '2026-01-16T00:00:00Z'],
    ['@midnight', '2026-01-16T00:00:00Z'],
    ['@weekly', '2026-01-18T00:00:00Z'],
    ['@monthly', '2026-02-01T00:00:00Z'],
    ['@yearly', '2027-01-01T00:00:00Z'],
    ['@annually', '2027-01-01T00:00:00Z'],
    [' @Daily ', '2026-01-16T00:00:00Z'],
  ])('%s is a nickname', (expr, next) => expect(after(expr, FROM)).toBe(next));

  it.each([
    ['5/15 * * * *', '5,20,35,50 * * * *'],
    ['0/20 30/10 * * * *', '0,20,40 30,40,50 * * * *'],
    ['0 6/6 * * *', '0 6,12,18 * * *'],
    ['0 0 10/7 * *', '0 0 10,17,24,31 * *'],
    ['0 0 1 3/3 *', '0 0 1 3,6,9,12 *'],
    ['0 0 1 march/3 *', '0 0 1 3,6,9,12 *'],
    ['0 0 * * 1/2', '0 0 * * 1,3,5,7'],
    ['0 0 0 1 1 * 2180/5', '0 0 0 1 1 * 2180,2185,2190,2195'],
    ['0 0 ? * MON', '0 0 * * MON'],
    ['0 0 13 * ?', '0 0 13 * *'],
    ['0 0 ? * ?', '0 0 * * *'],
    ['0 0 0 ? * 6 2030', '0 0 0 * * 6 2030'],
    ['0 0 * * monday', '0 0 * * 1'],
    ['0 0 * * Monday-FRIDAY', '0 0 * * 1-5'],
    ['0 0 * * saturday-sunday', '0 0 * * 6,0'],
    ['0 0 * * tuesday,thu', '0 0 * * 2,4'],
    ['0 0 1 january,April,JULY,october *', '0 0 1 1,4,7,10 *'],
    ['0 0 1 may-August *', '0 0 1 5-8 *'],
    ['0 0 1 february,june,september,november,december *', '0 0 1 2,6,9,11,12 *'],
    ['0 0 * * wednesday', '0 0 * * 3'],
  ])('%s, as other systems write it, is %s', (dialect, plain) => {
    expect(refusal(dialect)).toBe('accepted');
    expect(list(dialect, FROM, 12)).toEqual(list(plain, FROM, 12));
  });

  it('accepts the names of months and weekdays in any case', () => {
    expect(after('0 0 * JAN *', FROM)).toBe('2026-01-16T00:00:00Z');
    expect(after('0 0 1 feb-Apr/2,DEC *', FROM)).toBe('2026-02-01T00:00:00Z');
    expect(list('0 0 * * mon,WED', FROM, 3)).toEqual([
      '2026-01-19T00:00:00',
      '2026-01-21T00:00:00',
      '2026-01-26T00:00:00',
    ]);
  });

  it('accepts Sunday as 0, as 7 and by name, at either end of a range', () => {
    const sundays = ['2026-01-18T00:00:00', '2026-01-25T00:00:00'];
    for (const expr of ['0 0 * * 0', '0 0 * * 7', '0 0 * * SUN', '0 0 * * sun-sun', '0 0 * * 7-7', '0 0 * * 0,7']) {
      expect(list(expr, FROM, 2), expr).toEqual(sundays);
    }
    const weekends = ['2026-01-17T00:00:00', '2026-01-18T00:00:00', '2026-01-24T00:00:00'];
    for (const expr of ['0 0 * * 6-7', '0 0 * * SAT-SUN', '0 0 * * 0,6']) expect(list(expr, FROM, 3)).toEqual(weekends);
    expect(list('0 0 * * 5-7/2', FROM, 3)).toEqual([
      '2026-01-16T00:00:00',
      '2026-01-18T00:00:00',
      '2026-01-23T00:00:00',
    ]);
    expect(nextN('0 0 * * 0-7', at(FROM), 7)).toEqual(nextN('0 0 * * *', at(FROM), 7));
  });

  it('counts the weekday of a Monday as 1', () => {
    expect(new Date(nextAfter('0 0 * * 1', at(FROM))!).getUTCDay()).toBe(1);
  });
});

describe('the two day fields', () => {
  it('match if either does when both are restricted', () => {
    expect(list('0 0 13 * FRI', FROM, 5)).toEqual([
      '2026-01-16T00:00:00',
      '2026-01-23T00:00:00',
      '2026-01-30T00:00:00',
      '2026-02-06T00:00:00',
      '2026-02-13T00:00:00',
    ]);
    expect(list('0 0 20 1 MON', FROM, 3)).toEqual([
      '2026-01-19T00:00:00',
      '2026-01-20T00:00:00',
      '2026-01-26T00:00:00',
    ]);
  });

  it('match every day if one of them lists every value', () => {
    expect(list('0 0 13 * 0-6', FROM, 2)).toEqual(['2026-01-16T00:00:00', '2026-01-17T00:00:00']);
    expect(list('0 0 1-31 * FRI', FROM, 2)).toEqual(['2026-01-16T00:00:00', '2026-01-17T00:00:00']);
  });

  it('must both match if one of them begins with a star, as in Vixie cron', () => {
    // Odd days that are Mondays; the 13th if it is a Sunday, Wednesday or Saturday.
    expect(list('0 0 */2 * MON', FROM, 3)).toEqual([
      '2026-01-19T00:00:00',
      '2026-02-09T00:00:00',
      '2026-02-23T00:00:00',
    ]);
    expect(list('0 0 13 * */3', FROM, 3)).toEqual([
      '2026-05-13T00:00:00',
      '2026-06-13T00:00:00',
      '2026-09-13T00:00:00',
    ]);
    expect(list('0 0 *,5 * MON', FROM, 2)).toEqual(['2026-01-19T00:00:00', '2026-01-26T00:00:00']);
  });

  it('allow 30 February if a weekday is an alternative', () => {
    expect(list('0 0 30 2 MON', FROM, 2)).toEqual(['2026-02-02T00:00:00', '2026-02-09T00:00:00']);
  });
});

describe('the calendar', () => {
  it('skips months without the day, and years without 29 February', () => {
    expect(list('0 0 31 * *', FROM, 3)).toEqual(['2026-01-31T00:00:00', '2026-03-31T00:00:00', '2026-05-31T00:00:00']);
    expect(list('0 0 29 2 *', '2095-01-01T00:00:00Z', 3)).toEqual([
      '2096-02-29T00:00:00',
      '2104-02-29T00:00:00',
      '2108-02-29T00:00:00',
    ]);
  });

  it('finds occurrences strictly after the instant, to the millisecond', () => {
    expect(after('* * * * * *', '2026-01-15T10:30:15.000Z')).toBe('2026-01-15T10:30:16Z');
    expect(after('* * * * * *', '2026-01-15T10:30:15.999Z')).toBe('2026-01-15T10:30:16Z');
    expect(after('0 0 1 1 *', '2025-12-31T23:59:59.999Z')).toBe('2026-01-01T00:00:00Z');
    expect(after('0 0 1 1 *', '2026-01-01T00:00:00Z')).toBe('2027-01-01T00:00:00Z');
  });

  it('ends with the last year', () => {
    expect(after('0 0 0 1 1 * 2026', FROM)).toBeNull();
    expect(list('0 0 0 1 * * 2026', '2026-10-15T00:00:00Z', 10)).toEqual([
      '2026-11-01T00:00:00',
      '2026-12-01T00:00:00',
    ]);
    expect(after('* * * * * * 2020', FROM)).toBeNull();
    expect(after('0 0 0 29 2 * 2100', FROM)).toBeNull();
    expect(after('0 0 0 1 1 * 2199', FROM)).toBe('2199-01-01T00:00:00Z');
  });

  // The tests run under TZ=America/New_York, where these two days have 23 and 25 hours.
  it('ignores daylight saving', () => {
    expect(process.env.TZ).toBe('America/New_York');
    expect(new Date('2026-01-15T12:00:00Z').getTimezoneOffset()).toBe(300);
    for (const day of ['2026-03-08', '2026-11-01']) {
      const hours = nextN('30 * * * *', at(`${day}T00:00:00Z`), 24);
      expect(hours).toEqual(Array.from({ length: 24 }, (_, hour) => at(`${day}T00:30:00Z`) + hour * 3_600_000));
      expect(after('30 2 * * *', `${day}T00:00:00Z`)).toBe(`${day}T02:30:00Z`);
      expect(after('0 0 * * *', `${day}T00:00:00Z`)).toBe(
        new Date(at(`${day}T00:00:00Z`) + 86_400_000).toISOString().replace('.000Z', 'Z'),
      );
    }
  });
});

describe('what is refused', () => {
  it.each([
    ['', /5 fields/],
    ['   ', /5 fields/],
    ['* * * *', /not 4/],
    ['* * * * * * * *', /not 8/],
    ['TZ=UTC 0 0 * * *', /time zone/],
    ['CRON_TZ=Europe/Paris 0 0 * * *', /time zone/],
    ['tz=Asia/Tokyo * * * * *', /time zone/],
    ['@reboot', /@reboot/],
    ['@every 5m', /@hourly/],
    ['@daily 5', /@hourly/],
    ['@constructor', /@hourly/],
    ['60 * * * *', /minute field: 60 is outside 0 to 59/],
    ['* 24 * * *', /hour field/],
    ['* * 0 * *', /day-of-month field: 0 is outside 1 to 31/],
    ['* * 32 * *', /day-of-month/],
    ['* * * 13 *', /month field/],
    ['* * * * 8', /day-of-week field: 8 is outside 0 to 7/],
    ['60 * * * * *', /second field/],
    ['* * * * * * 1969', /year field/],
    ['* * * * * * 2200', /year field/],
    ['* * * * * * 99999999999999999999', /year field/],
    ['5-1 * * * *', /backwards/],
    ['* * * * 6-0', /backwards/],
    ['* * * * fri-mon', /backwards/],
    ['*/0 * * * *', /a step must be 1 to 60, not 0/],
    ['*/61 * * * *', /a step must be 1 to 60/],
    ['* * * * */8', /a step must be 1 to 7/],
    ['1* * * * *', /minute field: "1\*"/],
    ['*-5 * * * *', /minute field/],
    ['1,,2 * * * *', /missing/],
    [', * * * *', /missing/],
    ['-1 * * * *', /minute field/],
    ['1- * * * *', /minute field/],
    ['*/ * * * *', /minute field/],
    ['1.5 * * * *', /minute field/],
    ['1e1 * * * *', /minute field/],
    ['0x5 * * * *', /minute field/],
    ['foo * * * *', /"foo"/],
    ['MON * * * *', /minute field/],
    ['* * * MON *', /month field/],
    ['* * * * mond', /day-of-week field/],
    ['* * * * january', /day-of-week field/],
    ['* * * monday *', /month field/],
    ['* * * * mondays', /day-of-week field/],
    ['* * * sept *', /month field/],
    ['* * L * *', /extension/],
    ['* * LW * *', /extension/],
    ['* * 15W * *', /extension/],
    ['* * L-3 * *', /extension/],
    ['* * * * 5L', /extension/],
    ['* * * * FRIL', /extension/],
    ['* * * * MON#2', /extension/],
    ['? * * * *', /minute field: .*extension/],
    ['* ? * * *', /hour field: .*extension/],
    ['* * * ? *', /month field: .*extension/],
    ['* * ?,5 * *', /extension/],
    ['* * ?/2 * *', /extension/],
    ['5/0 * * * *', /a step must be 1 to 60/],
    ['5/61 * * * *', /a step must be 1 to 60/],
    ['60/5 * * * *', /outside 0 to 59/],
    ['* * 1 * +MON', /extension/],
    ['* * * * mon#9#9', /extension/],
    ['H * * * *', /"H"/],
    ['٣ * * * *', /minute field/],
    ['0 0 30 2 *', /never fires/],
    ['0 0 31 2,4,6,9,11 *', /never fires/],
    ['0 0 30-31 FEB */2', /never fires/],
  ])('%j', (expr, why) => expect(refusal(expr)).toMatch(why));

  it('takes little time, whatever a client sends', () => {
    const long = (field: string): string => `${field} * * * *`;
    const hostile = [
      '0 0 0 29 2 * 2100',
      '0 0 0 29 2 */2 1971-2199/2',
      '0 0 0 29 2 */7 2027-2199/2,2196',
      '0 0 0 29 2 */7 2027-2199/2',
      '0 0 30 2 *',
      '0 0 0 30 2 */2 2026-2199',
      '0 0 0 31 2,4,6,9,11 */2 1970-2199',
      '0 0 0 31 2,4,6,9,11 */2 2026-2199',
      '0 0 29 2 */7',
      '59 59 23 31 12 */7 *',
      '59 59 23 31 12 */7 1970-2199/2',
      '* * * * * * 1970-2025',
      '59 59 * 31 12 */7 1970-2199/2',
      '0 30 2 * * * 2199',
      '0 30 * * * * 2199',
      long(Array(128).fill('*').join()),
      long('0-59/1,'.repeat(36) + '0'),
      long('9'.repeat(255)),
      long('-'.repeat(255)),
      long('*'.repeat(255)),
      ' '.repeat(255),
    ];
    const look = (expr: string): void => {
      if (!parseCron(expr).ok) return;
      nextN(expr, at('2097-01-01T00:00:00Z'), 2);
      nextN(expr, at('2097-01-01T00:00:00Z'), 2, 'America/New_York');
    };
    const thousandOrdinary = cpuMs(3, () => {
      for (let n = 0; n < 1000; n++) look('*/5 9-17 * * 1-5');
    });
    for (const expr of hostile) expect(cpuMs(10, () => look(expr)) / thousandOrdinary, expr).toBeLessThan(1);
  });
});

describe('the days after February', () => {
  it.each([
    ['0 0 1,31 * *', '2021-02-28T00:00:00Z', ['2021-03-01T00:00:00', '2021-03-31T00:00:00']],
    ['0 0 1,31 * *', '2020-02-28T00:00:00Z', ['2020-03-01T00:00:00', '2020-03-31T00:00:00']],
    ['0 0 */3 * *', '2020-02-28T00:00:00Z', ['2020-03-01T00:00:00', '2020-03-04T00:00:00']],
    ['0 0 2,30,31 * *', '2021-01-31T00:00:00Z', ['2021-02-02T00:00:00', '2021-03-02T00:00:00']],
    ['0 12 1,31 3 *', '2021-02-01T00:00:00Z', ['2021-03-01T12:00:00', '2021-03-31T12:00:00']],
    ['30 59 23 1,31 * *', '2023-02-28T23:59:59Z', ['2023-03-01T23:59:30', '2023-03-31T23:59:30']],
  ])('are not skipped by %s', (expr, from, expected) => {
    expect(nextN(expr, at(from), 2).map((occurrence) => new Date(occurrence).toISOString().slice(0, 19))).toEqual(
      expected,
    );
  });
});
