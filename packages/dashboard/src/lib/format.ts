import type { Count } from '@millrace/contract';
import type { Zone } from './preferences.js';

const whole = new Intl.NumberFormat('en-GB');

/** 4211 as "4,211". */
export const number = (n: number): string => whole.format(n);

/** An estimate says so: "about 48,000". */
export const count = ({ n, exact }: Count): string => (exact ? number(n) : `about ${number(rounded(n))}`);

/** An estimate has two digits: more would look like knowledge. */
const rounded = (n: number): number => Number(n.toPrecision(2));

/** What an operation matches is counted for a while, so it is never less: "at least 48,000". */
export const atLeast = ({ n, exact }: Count): string => (exact ? number(n) : `at least ${number(cutDown(n))}`);

/** The first two digits, and never more than the number. */
export function cutDown(n: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(n, 1))) - 1);
  return Math.floor(n / power) * power;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
];

/** How long, in the two largest units: "1.2 s", "4 min 10 s", "2 h 5 min". */
export function duration(ms: number): string {
  if (ms <= 0) return '0 s';
  // Below a millisecond there is nothing that a person could act on.
  if (ms < 1) return '< 1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const index = UNITS.findIndex(([, size]) => seconds >= size);
  const [name, size] = UNITS[index] ?? ['min', 60];
  const [nextName, nextSize] = UNITS[index + 1] ?? ['s', 1];
  const rest = Math.floor((seconds % size) / nextSize);
  return `${Math.floor(seconds / size)} ${name}${rest > 0 ? ` ${rest} ${nextName}` : ''}`;
}

const ONES: ReadonlyMap<number, string> = new Map([
  [1, 'second'],
  [60, 'minute'],
  [3600, 'hour'],
  [86_400, 'day'],
]);

/** What a rate is counted by: "minute", "15 s". */
export const perWords = (ms: number): string => ONES.get(ms / 1000) ?? duration(ms);

/** How long, in one unit: "4 min". */
export function roughly(ms: number): string {
  const seconds = Math.max(0, ms / 1000);
  const [name, size] = UNITS.find(([, unit]) => seconds >= unit) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${name}`;
}

/** "3 min ago", "in 20 s", "now". */
export function relative(instant: number, now: number): string {
  const distance = instant - now;
  if (Math.abs(distance) < 1000) return 'now';
  return distance > 0 ? `in ${roughly(distance)}` : `${roughly(-distance)} ago`;
}

const formats = new Map<string, Intl.DateTimeFormat>();
function formatOf(zone: Zone, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let format = formats.get(key);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', { ...options, ...(zone === 'utc' ? { timeZone: 'UTC' } : {}) });
    formats.set(key, format);
  }
  return format;
}

/** Asked once: every instant on a page says its zone, and the answer is costly. */
let localZone: string | undefined;
const zoneName = (zone: Zone): string =>
  zone === 'utc' ? 'UTC' : (localZone ??= new Intl.DateTimeFormat().resolvedOptions().timeZone);

/** The instant in full with its zone: to the millisecond, or to the second where nothing happens in between. */
export function exact(instant: string | number, zone: Zone, unit: 'ms' | 's' = 'ms'): string {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return String(instant);
  const text = formatOf(zone, {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    ...(unit === 'ms' && { fractionalSecondDigits: 3 }),
  }).format(date);
  return `${text} ${zoneName(zone)}`;
}

/** Time of day: "14:02". */
export const clock = (instant: string | number, zone: Zone): string =>
  formatOf(zone, { hour: '2-digit', minute: '2-digit' }).format(new Date(instant));

/** Time of day to the second: "14:02:51". */
export const clockToSecond = (instant: string | number, zone: Zone): string =>
  formatOf(zone, { hour: '2-digit', minute: '2-digit', second: '2-digit' }).format(new Date(instant));

/** Day and time of day: "3 Nov, 14:02". */
export const dayAndClock = (instant: string | number, zone: Zone): string =>
  formatOf(zone, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }).format(new Date(instant));

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  if (n < 1_000_000) return `${(n / 1000).toFixed(1)} kB`;
  return `${(n / 1_000_000).toFixed(1)} MB`;
}

export const capital = (words: string): string => words.slice(0, 1).toUpperCase() + words.slice(1);

/** "1 job", "2 jobs". */
export const plural = (n: number, word: string, many = `${word}s`): string => `${number(n)} ${n === 1 ? word : many}`;

/** The end of an id, which differs where its beginning is the time. */
export const shortId = (id: string): string => (id.length > 13 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id);
