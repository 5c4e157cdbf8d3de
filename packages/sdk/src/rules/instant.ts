/**
 * Instants on the wire: RFC 3339 with an offset or Z, also with a space for the `T` and without the colon in the offset
 * (as many languages print it), normalised to UTC with exactly six fractional digits, which is
 * what PostgreSQL stores. A JavaScript Date serves only as a calendar here; it never carries the fraction.
 */

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):?(\d\d))$/;

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/**
 * Returns `2030-01-31T09:00:00.000000Z`, or null if the text is not an instant. Digits beyond microseconds are cut.
 * A leap second is read as the instant that follows it, as in PostgreSQL, and accepted only at the end of a month in
 * UTC, where one can occur. Years outside 1 to 9999 (in UTC) have no RFC 3339 form and are refused.
 */
export function parseInstant(text: string): string | null {
  if (text === last.text) return last.instant;
  const instant = parse(text);
  if (instant !== null) last = { text, instant };
  return instant;
}

/** It is asked for again to be stored, once it is known to be valid, and the jobs of a batch often have the same. */
let last: { readonly text: string | null; readonly instant: string } = { text: null, instant: '' };

function parse(text: string): string | null {
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] = match;
  const date = { year: Number(year), month: Number(month), day: Number(day) };
  const time = { hour: Number(hour), minute: Number(minute), second: Number(second) };
  const offset = { hour: Number(offsetHour ?? 0), minute: Number(offsetMinute ?? 0) };
  if (!isCalendarDate(date) || time.hour > 23 || time.minute > 59 || time.second > 60) return null;
  if (offset.hour > 23 || offset.minute > 59) return null;

  const offsetMinutes = (offset.hour * 60 + offset.minute) * (sign === '-' ? -1 : 1);
  const utc = new Date(0);
  utc.setUTCFullYear(date.year, date.month - 1, date.day);
  utc.setUTCHours(time.hour, time.minute - offsetMinutes, time.second);
  if (time.second === 60 && !isStartOfMonth(utc)) return null;
  const utcYear = utc.getUTCFullYear();
  if (utcYear < 1 || utcYear > 9999) return null;

  const micros = (fraction ?? '').slice(0, 6).padEnd(6, '0');
  return `${utc.toISOString().slice(0, 19)}.${micros}Z`;
}

/**
 * An instant from a query string, where a `+` that was not percent-encoded arrives as a space. Only the offset can
 * contain one, and four digits at the very end are nothing but an offset, so putting it back is safe.
 */
export const parseQueryInstant = (text: string): string | null => parseInstant(text.replace(/ (?=\d\d:?\d\d$)/, '+'));

export const isInstant = (text: string): boolean => parseInstant(text) !== null;

function isCalendarDate({ year, month, day }: { year: number; month: number; day: number }): boolean {
  if (year < 1) return false;
  const days = DAYS_IN_MONTH[month - 1];
  if (days === undefined || day < 1) return false;
  return day <= (month === 2 && isLeapYear(year) ? 29 : days);
}

const isLeapYear = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

const isStartOfMonth = (utc: Date): boolean =>
  utc.getUTCDate() === 1 && utc.getUTCHours() === 0 && utc.getUTCMinutes() === 0 && utc.getUTCSeconds() === 0;
