/**
 * The grammar of crontab expressions: text in, sets of numbers out. It is Vixie's: values, ranges, steps over `*` or a
 * range, lists, and names for months and weekdays. Of what other schedulers added, it takes what can mean only one
 * thing: full names, a step after a single value (`5/15`: from 5 to the end), and `?` for `*` as a day field. The rest
 * (`L`, `W`, `#`, `+`) is refused by name rather than misread.
 */
export interface CronFields {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  /** 0 to 6, Sunday first; 7 has become 0. */
  readonly weekdays: readonly number[];
  /** Null: every year. */
  readonly years: readonly number[] | null;
  /** True: a day matches by its day of month or by its weekday. False: it must match by both. */
  readonly eitherDay: boolean;
}

export type FieldsOrError =
  { readonly ok: true; readonly fields: CronFields } | { readonly ok: false; readonly error: string };

interface Field {
  readonly name: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly names?: readonly string[];
}

/** In full; the first three letters are enough. */
const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const SECOND: Field = { name: 'second', minimum: 0, maximum: 59 };
const MINUTE: Field = { name: 'minute', minimum: 0, maximum: 59 };
const HOUR: Field = { name: 'hour', minimum: 0, maximum: 23 };
const DAY: Field = { name: 'day-of-month', minimum: 1, maximum: 31 };
const MONTH: Field = { name: 'month', minimum: 1, maximum: 12, names: MONTHS };
const WEEKDAY: Field = { name: 'day-of-week', minimum: 0, maximum: 7, names: WEEKDAYS };
/** Bounded, so that no search for an occurrence can run through millennia. */
const YEAR: Field = { name: 'year', minimum: 1970, maximum: 2199 };

const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** Thrown and caught within this file only, from deep inside a field. */
class Unreadable extends Error {}

export function readCronFields(expr: string): FieldsOrError {
  try {
    return { ok: true, fields: read(splitFields(expr)) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, error: error.message };
    throw error;
  }
}

function splitFields(expr: string): string[] {
  const words = expr.trim().split(/\s+/);
  const [first = ''] = words;
  if (/^(cron_)?tz=/i.test(first)) {
    throw new Unreadable('must not name a time zone: use the field timezone');
  }
  if (!first.startsWith('@')) return words;
  const nickname = first.toLowerCase();
  if (nickname === '@reboot') throw new Unreadable('must not be @reboot: the service has no such event');
  const meaning = Object.hasOwn(NICKNAMES, nickname) ? NICKNAMES[nickname] : undefined;
  if (meaning === undefined || words.length > 1) {
    throw new Unreadable(`must be one of ${Object.keys(NICKNAMES).join(', ')}, or five to seven fields`);
  }
  return meaning.split(' ');
}

function read(words: readonly string[]): CronFields {
  if (words.length < 5 || words.length > 7) {
    throw new Unreadable(
      `must have 5 fields (minute, hour, day of month, month, day of week), 6 (seconds before them) or ` +
        `7 (seconds before and the year after them), not ${words.length}`,
    );
  }
  const [second = '0', minute = '', hour = '', dayText = '', month = '', weekdayText = '', year] =
    words.length === 5 ? [undefined, ...words] : words;
  const [day, weekday] = [starFor(dayText), starFor(weekdayText)];
  return {
    seconds: values(SECOND, second),
    minutes: values(MINUTE, minute),
    hours: values(HOUR, hour),
    days: values(DAY, day),
    months: values(MONTH, month),
    weekdays: sorted(values(WEEKDAY, weekday).map((value) => value % 7)),
    years: year === undefined || year === '*' ? null : values(YEAR, year),
    // Vixie's rule to the letter: a day field counts as unrestricted when it begins with a star, `*/2` included.
    eitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
  };
}

/** Elsewhere `?` says that a day field is left open, which is what a star says here. */
const starFor = (dayField: string): string => (dayField === '?' ? '*' : dayField);

function values(field: Field, text: string): number[] {
  return sorted(text.split(',').flatMap((item) => itemValues(field, item)));
}

const sorted = (numbers: readonly number[]): number[] => [...new Set(numbers)].sort((a, b) => a - b);

const ITEM = /^(?:(\*)|([a-z\d]+)(?:-([a-z\d]+))?)(?:\/(\d+))?$/i;
const EXTENSION = /[#?+]|^(?:\d+|[a-z]{3})?(?:l|w|lw|l-\d+)$/i;

function itemValues(field: Field, item: string): number[] {
  const [, star, from, to, stepText] = ITEM.exec(item) ?? [];
  if (star === undefined && (from === undefined || EXTENSION.test(item))) throw unreadableItem(field, item);
  const low = from === undefined ? field.minimum : valueOf(field, from);
  const isOpen = to === undefined && (star !== undefined || stepText !== undefined);
  const high = isOpen ? field.maximum : upperEnd(field, low, to ?? from ?? '');
  if (high < low) throw bad(field, `"${item}": a range must not run backwards`);
  const step = stepText === undefined ? 1 : stepOf(field, stepText);
  const found: number[] = [];
  for (let value = low; value <= high; value += step) found.push(value);
  return found;
}

/** Sunday is at both ends of the week: as a name at the end of a range it is the later one. */
function upperEnd(field: Field, low: number, text: string): number {
  const value = valueOf(field, text);
  return field === WEEKDAY && value < low && /^sun/i.test(text) ? 7 : value;
}

function valueOf(field: Field, text: string): number {
  const word = text.toLowerCase();
  const name = field.names?.findIndex((each) => word === each || word === each.slice(0, 3)) ?? -1;
  if (name >= 0) return name + field.minimum;
  if (!/^\d+$/.test(text)) throw unreadableItem(field, text);
  const value = Number(text);
  if (value < field.minimum || value > field.maximum) {
    throw bad(field, `${text} is outside ${field.minimum} to ${field.maximum}`);
  }
  return value;
}

/** A step may be as large as the field has values: every 24th hour (`*` over 24) is common and means midnight. */
function stepOf(field: Field, text: string): number {
  const most = field.maximum - field.minimum + (field === WEEKDAY ? 0 : 1);
  const step = Number(text);
  if (step < 1 || step > most) throw bad(field, `a step must be 1 to ${most}, not ${text}`);
  return step;
}

function unreadableItem(field: Field, item: string): Unreadable {
  if (item === '') return bad(field, 'a value is missing');
  if (EXTENSION.test(item)) return bad(field, `"${item}" uses an extension (L, W, #, ?, +) that is not supported`);
  return bad(field, `"${item}" is not a value, a range, a step or *`);
}

const bad = (field: Field, message: string): Unreadable => new Unreadable(`${field.name} field: ${message}`);
