const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

/** A field: any value, every so many, from one to another, or some. */
type Field =
  | { readonly kind: 'any' }
  | { readonly kind: 'step'; readonly every: number }
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'some'; readonly values: readonly number[] };

/** The expression in words; null if it has none, which does not make it wrong: the server decides that. */
export function wordsOf(expression: string): string | null {
  const plain = expression.trim();
  const parts = (NICKNAMES[plain.toLowerCase()] ?? plain).split(/\s+/);
  // With seconds first, and the year last. What only some seconds or years have is not put into words.
  if (parts.length === 7 && parts.pop() !== '*') return null;
  const second = parts.length === 6 ? parts.shift() : '0';
  if (second !== '0') return parts.every((part) => part === '*') ? secondWords(fieldOf(second, 0, 59)) : null;
  const [minute, hour, day, month, weekday] = parts;
  if (parts.length !== 5) return null;
  const time = timeWords(fieldOf(minute, 0, 59), fieldOf(hour, 0, 23));
  const days = dayWords(fieldOf(day, 1, 31));
  const weekdays = weekdayWords(fieldOf(weekday, 0, 7, DAYS));
  const months = monthWords(fieldOf(month, 1, 12, MONTHS));
  if (time === null || days === null || weekdays === null || months === null) return null;
  // Either of the two is enough: the crontab fires on both.
  const either = days !== '' && weekdays !== '' ? `${days} or ${weekdays.replace(/^only /, '')}` : days + weekdays;
  return [time, either, months].filter((part) => part !== '').join(', ');
}

/** Null if it is none of the kinds that have words. */
function fieldOf(text = '', least: number, most: number, names: readonly string[] = []): Field | null {
  const numberOf = (word: string): number | null => {
    const named = names.findIndex((name) => name.slice(0, 3).toLowerCase() === word.toLowerCase());
    const n = named >= 0 ? named + (least === 1 ? 1 : 0) : /^\d+$/.test(word) ? Number(word) : Number.NaN;
    return n >= least && n <= most ? n : null;
  };
  if (text === '*' || text === '?') return { kind: 'any' };
  const [, every] = /^\*\/(\d+)$/.exec(text) ?? [];
  if (every !== undefined) return Number(every) > 1 ? { kind: 'step', every: Number(every) } : { kind: 'any' };
  const [, first = '', last = ''] = /^(\w+)-(\w+)$/.exec(text) ?? [];
  const [from, to] = [numberOf(first), numberOf(last)];
  if (from !== null && to !== null) return { kind: 'range', from, to };
  const values = text.split(',').map(numberOf);
  if (!values.every((value) => value !== null)) return null;
  return { kind: 'some', values: values.sort((one, other) => one - other) };
}

const two = (n: number): string => String(n).padStart(2, '0');

/** "1", "1 and 2", "1, 2, and 3". */
const listed = (words: readonly string[]): string =>
  words.length < 3 ? words.join(' and ') : `${words.slice(0, -1).join(', ')}, and ${words.at(-1) ?? ''}`;

function timeWords(minute: Field | null, hour: Field | null): string | null {
  if (minute === null || hour === null) return null;
  if (minute.kind === 'some' && minute.values.length === 1 && hour.kind === 'some') {
    const times = hour.values.map((h) => `${two(h)}:${two(minute.values[0] ?? 0)}`);
    return `At ${listed(times).replace(', and ', ' and ')}`;
  }
  const minutes = minuteWords(minute);
  const hours = hourWords(hour);
  if (minutes === null || hours === null) return null;
  if (minutes === '') return hours === '' ? 'Every hour' : `On the hour, ${hours}`;
  return hours === '' ? minutes : `${minutes}, ${hours}`;
}

/** Of every minute of every day. */
function secondWords(second: Field | null): string | null {
  if (second?.kind === 'any') return 'Every second';
  return second?.kind === 'step' ? `Every ${second.every} seconds` : null;
}

/** Empty: at the full hour. */
function minuteWords(minute: Field): string | null {
  if (minute.kind === 'any') return 'Every minute';
  if (minute.kind === 'step') return `Every ${minute.every} minutes`;
  if (minute.kind === 'range') return `Minutes ${two(minute.from)} through ${two(minute.to)} past the hour`;
  const [first = 0] = minute.values;
  if (minute.values.length > 1) return `At ${listed(minute.values.map(String))} minutes past the hour`;
  return first === 0 ? '' : `At ${first} minutes past the hour`;
}

/** Empty: in each. */
function hourWords(hour: Field): string | null {
  if (hour.kind === 'any') return '';
  if (hour.kind === 'step') return `every ${hour.every} hours`;
  if (hour.kind === 'range') return `between ${two(hour.from)}:00 and ${two(hour.to)}:59`;
  return hour.values.length === 1
    ? `between ${two(hour.values[0] ?? 0)}:00 and ${two(hour.values[0] ?? 0)}:59`
    : `at ${listed(hour.values.map((h) => `${two(h)}:00`))}`;
}

function dayWords(day: Field | null): string | null {
  if (day === null) return null;
  if (day.kind === 'any') return '';
  if (day.kind === 'step') return `every ${day.every} days`;
  if (day.kind === 'range') return `between day ${day.from} and ${day.to} of the month`;
  return day.values.length === 1
    ? `on day ${day.values[0] ?? 1} of the month`
    : `on day ${listed(day.values.map(String))} of the month`;
}

function weekdayWords(weekday: Field | null): string | null {
  if (weekday === null) return null;
  const name = (n: number): string => DAYS[n % 7] ?? '';
  if (weekday.kind === 'any') return '';
  if (weekday.kind === 'step') return `every ${weekday.every} days of the week`;
  if (weekday.kind === 'range') return `${name(weekday.from)} through ${name(weekday.to)}`;
  return `only on ${listed(weekday.values.map(name))}`;
}

function monthWords(month: Field | null): string | null {
  if (month === null) return null;
  const name = (n: number): string => MONTHS[n - 1] ?? '';
  if (month.kind === 'any') return '';
  if (month.kind === 'step') return `every ${month.every} months`;
  if (month.kind === 'range') return `${name(month.from)} through ${name(month.to)}`;
  return `only in ${listed(month.values.map(name))}`;
}
