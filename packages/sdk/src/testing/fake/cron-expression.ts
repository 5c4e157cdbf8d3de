import { invalid } from './problem.js';

/** When a schedule fires. All in UTC; the real service knows time zones, see `devServer`. */
export interface Timetable {
  /** The first occurrence after an instant; null if there is none within eight years. */
  next(after: number): number | null;
}

const NICKNAMES: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const DAY_MS = 86_400_000;
const MOST_DAYS = 8 * 366;

interface Field {
  readonly values: ReadonlySet<number>;
  readonly wildcard: boolean;
}

/** Reads a crontab expression of five fields, or six with the seconds first. */
export function parseCron(expression: string): Timetable {
  const text = NICKNAMES[expression.trim().toLowerCase()] ?? expression.trim();
  const parts = text.split(/\s+/);
  if (parts.length === 7) throw unsupported(expression, 'years');
  if (parts.length !== 5 && parts.length !== 6)
    throw invalid('cron_expr', 'must have 5 fields, or 6 with the seconds first');
  const [second = '0', minute = '', hour = '', day = '', month = '', weekday = ''] =
    parts.length === 5 ? ['0', ...parts] : parts;
  const fields = {
    seconds: parseField(second, 0, 59),
    minutes: parseField(minute, 0, 59),
    hours: parseField(hour, 0, 23),
    days: parseField(day, 1, 31),
    months: parseField(month, 1, 12, MONTHS),
    weekdays: parseField(weekday, 0, 7, DAYS),
  };
  if (fields.weekdays.values.has(7)) (fields.weekdays.values as Set<number>).add(0);
  const times = timesOf(fields.hours, fields.minutes, fields.seconds);
  const timetable: Timetable = { next: (after) => nextAfter(after, fields, times) };
  if (timetable.next(Date.UTC(2024, 0, 1)) === null) throw invalid('cron_expr', 'never fires');
  return timetable;
}

function unsupported(expression: string, what: string): Error {
  return invalid(
    'cron_expr',
    `${JSON.stringify(expression)} has ${what}, which FakeServer does not know; use devServer()`,
  );
}

function parseField(text: string, low: number, high: number, names: readonly string[] = []): Field {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(\*|\?|[a-z]+|\d+)(?:-([a-z]+|\d+))?(?:\/(\d+))?$/i.exec(part);
    if (match === null) throw invalid('cron_expr', `has a field that cannot be read: ${part}`);
    const [, from = '', to, step] = match;
    const any = from === '*' || from === '?';
    const first = any ? low : numberOf(from, low, high, names);
    const last = to !== undefined ? numberOf(to, low, high, names) : any || step !== undefined ? high : first;
    const by = Number(step ?? 1);
    if (last < first || by < 1) throw invalid('cron_expr', `has a field that cannot be read: ${part}`);
    for (let value = first; value <= last; value += by) values.add(value);
  }
  return { values, wildcard: text.startsWith('*') || text.startsWith('?') };
}

function numberOf(text: string, low: number, high: number, names: readonly string[]): number {
  const word = text.toLowerCase();
  const named = names.findIndex((name) => name === word || name.slice(0, 3) === word);
  const value = named >= 0 ? named + (names === MONTHS ? 1 : 0) : Number(text);
  if (!Number.isInteger(value) || value < low || value > high)
    throw invalid('cron_expr', `has a value out of range: ${text}`);
  return value;
}

/** Every time of day that matches, in milliseconds since midnight, in order. */
function timesOf(hours: Field, minutes: Field, seconds: Field): number[] {
  const times: number[] = [];
  for (const hour of hours.values) {
    for (const minute of minutes.values) {
      for (const second of seconds.values) times.push(((hour * 60 + minute) * 60 + second) * 1_000);
    }
  }
  return times.sort((a, b) => a - b);
}

function nextAfter(
  after: number,
  fields: { days: Field; months: Field; weekdays: Field },
  times: readonly number[],
): number | null {
  const midnight = Math.floor(after / DAY_MS) * DAY_MS;
  for (let days = 0; days < MOST_DAYS; days++) {
    const start = midnight + days * DAY_MS;
    if (!matchesDay(new Date(start), fields)) continue;
    const time = times.find((each) => start + each > after);
    if (time !== undefined) return start + time;
  }
  return null;
}

/** If both day fields are restricted, either may match. */
function matchesDay(date: Date, { days, months, weekdays }: { days: Field; months: Field; weekdays: Field }): boolean {
  if (!months.values.has(date.getUTCMonth() + 1)) return false;
  const byDate = days.values.has(date.getUTCDate());
  const byWeekday = weekdays.values.has(date.getUTCDay());
  return days.wildcard || weekdays.wildcard ? byDate && byWeekday : byDate || byWeekday;
}
