import { NEVER_AGAIN, NOT_A_ZONE, occurrenceAfter, parseCron, timeZone, type CronFields } from '../../rules/index.js';
import { invalid } from './problem.js';

/** When a schedule fires, by the grammar and the rules of the service. */
export interface Timetable {
  /** The first occurrence after an instant; null if there is none. */
  next(after: number): number | null;
}

const DAY_MS = 86_400_000;
/** A 29 February on a certain weekday may be forty years away; no expression names a year after 2199. */
const LAST_DAY = Date.UTC(2240, 0, 1);

/** Reads an expression, in the field that is named, and a time zone. */
export function timetableOf(expression: string, timezone = 'UTC', field = 'cron_expr'): Timetable {
  const parsed = parseCron(expression);
  if (!parsed.ok) throw invalid(field, parsed.error);
  const zone = timeZone(timezone);
  if (zone === null) throw invalid('timezone', NOT_A_ZONE);
  const { fields } = parsed;
  const times = timesOf(fields);
  const walls = { everyHour: fields.hours.length === 24, next: (wall: number) => nextWall(wall, fields, times) };
  return { next: (after) => occurrenceAfter(walls, zone, after) };
}

/** The same for one that must have an occurrence ahead of it. */
export function firstOf(timetable: Timetable, after: number, field = 'cron_expr'): number {
  const first = timetable.next(after);
  if (first === null) throw invalid(field, NEVER_AGAIN);
  return first;
}

/** Every time of day that matches, in milliseconds since midnight, in order. */
function timesOf({ hours, minutes, seconds }: CronFields): number[] {
  const times: number[] = [];
  for (const hour of hours) {
    for (const minute of minutes) {
      for (const second of seconds) times.push(((hour * 60 + minute) * 60 + second) * 1_000);
    }
  }
  return times;
}

function nextWall(after: number, fields: CronFields, times: readonly number[]): number | null {
  const last = Math.min(LAST_DAY, Date.UTC((fields.years?.at(-1) ?? 9_998) + 1, 0, 1));
  for (let day = Math.floor(after / DAY_MS) * DAY_MS; day < last; day += DAY_MS) {
    if (!matchesDay(new Date(day), fields)) continue;
    const time = times.find((each) => day + each > after);
    if (time !== undefined) return day + time;
  }
  return null;
}

function matchesDay(date: Date, { days, months, weekdays, years, eitherDay }: CronFields): boolean {
  if (!months.includes(date.getUTCMonth() + 1) || years?.includes(date.getUTCFullYear()) === false) return false;
  const [day, weekday] = [days.includes(date.getUTCDate()), weekdays.includes(date.getUTCDay())];
  return eitherDay ? day || weekday : day && weekday;
}
