import { milliseconds, type Duration } from '@millrace/sdk';
import { isObject } from '@millrace/sdk/rules';
import { readAll, type Io } from '../terminal/io.js';
import { Misuse } from './exit.js';

/** Larger than any request that a server takes by default. */
const MOST_INPUT = 16 * 1024 * 1024;

export function wholeNumber(flag: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^-?\d+$/.test(text) && number >= least && number <= most) return number;
  throw new Misuse(`--${flag} must be a whole number from ${least} to ${most}`);
}

export function duration(flag: string, text: string | undefined): Duration | undefined {
  if (text === undefined) return undefined;
  try {
    milliseconds(text as Duration);
  } catch {
    throw new Misuse(`--${flag} must be a number and a unit: 500ms, 30s, 10m, 2h or 1d`);
  }
  return text as Duration;
}

export const durationMs = (flag: string, text: string | undefined): number | undefined => {
  const given = duration(flag, text);
  return given === undefined ? undefined : milliseconds(given);
};

export const seconds = (flag: string, text: string | undefined): number | undefined => {
  const ms = durationMs(flag, text);
  return ms === undefined ? undefined : Math.ceil(ms / 1_000);
};

const isInstant = (text: string): boolean => /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text));

/** An instant of the past: RFC 3339, or a duration that is counted back from now (`2h` is two hours ago). */
export function since(flag: string, text: string | undefined, now = Date.now()): string | undefined {
  if (text === undefined || isInstant(text)) return text;
  if (/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text)) return new Date(now - milliseconds(text as Duration)).toISOString();
  throw new Misuse(`--${flag} must be an instant such as 2031-01-31T09:00:00Z, or a duration such as 2h`);
}

export function instant(flag: string, text: string | undefined): string | undefined {
  if (text === undefined || isInstant(text)) return text;
  throw new Misuse(`--${flag} must be an instant such as 2031-01-31T09:00:00Z`);
}

/** A field of metadata, and its value. */
export function metadataField(text: string | undefined): { readonly name: string; readonly value: string } | undefined {
  if (text === undefined) return undefined;
  const at = text.indexOf('=');
  if (at < 1) throw new Misuse('--metadata must be FIELD=VALUE');
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

/** JSON text, from an argument or, for `-`, from standard input. Kept as it is: digits and all. */
export async function jsonValue(what: string, text: string, io: Io): Promise<string> {
  return (await readGiven(what, text, io)).text;
}

/** The same of an object. */
export async function jsonObject(what: string, text: string, io: Io): Promise<string> {
  const json = await readGiven(what, text, io);
  if (!isObject(json.value)) throw new Misuse(`${what} is not a JSON object`);
  return json.text;
}

async function readGiven(what: string, text: string, io: Io): Promise<{ text: string; value: unknown }> {
  const json = text === '-' ? await readAll(io, MOST_INPUT) : text;
  if (json === null) throw new Misuse(`${what} is larger than 16 MiB`);
  try {
    return { text: json.trim(), value: JSON.parse(json) };
  } catch {
    throw new Misuse(`${what} is not JSON; in a shell, put it between single quotes`);
  }
}

/** An object of JSON texts, as JSON text. Members without a value are left out. */
export function jsonText(members: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(members).flatMap(([name, text]) =>
    text === undefined ? [] : [`${JSON.stringify(name)}:${text}`],
  );
  return `{${written.join(',')}}`;
}

/** A value as JSON text, for `jsonText`. */
export const quoted = (value: string | number | boolean | undefined): string | undefined =>
  value === undefined ? undefined : JSON.stringify(value);

/** The words of the command line, or for `-` those of standard input. */
export async function words(args: readonly string[], io: Io, most: number): Promise<string[]> {
  if (!args.includes('-')) return [...args];
  const text = await readAll(io, MOST_INPUT);
  if (text === null) throw new Misuse('standard input is larger than 16 MiB');
  const given = args.flatMap((arg) => (arg === '-' ? text.split(/\s+/).filter(Boolean) : [arg]));
  if (given.length > most) throw new Misuse(`${given.length} ids are more than ${most}`);
  return given;
}
