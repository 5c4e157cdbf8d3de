import { WAITS_QUEUE } from '@millrace/contract';
import { bearerTokenOf } from '@millrace/sdk/rules';

/**
 * How the text of a flag or a variable becomes a value. A reader returns the value or throws InvalidValue with the rest
 * of the sentence "<name> ..."; it never repeats the text itself, since that may be a secret.
 */
export class InvalidValue extends Error {}

export type ValueReader<T> = (text: string) => T;

export const anyText: ValueReader<string> = (text) => text;

export function oneOf<const T extends string>(...choices: readonly T[]): ValueReader<T> {
  return (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new InvalidValue(`must be one of ${choices.join(', ')}`);
    return found;
  };
}

export function integer(min: number, max: number): ValueReader<number> {
  return (text) => {
    const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) throw new InvalidValue(`must be a whole number from ${min} to ${max}`);
    return value;
  };
}

/** `auto` is as many as there are cores, which only the machine knows. */
export function countOrAuto(min: number, max: number): ValueReader<number | 'auto'> {
  const count = integer(min, max);
  return (text) => {
    if (text === 'auto') return 'auto';
    try {
      return count(text);
    } catch {
      throw new InvalidValue(`must be auto or a whole number from ${min} to ${max}`);
    }
  };
}

export function decimal(accepts: (value: number) => boolean, rule: string): ValueReader<number> {
  return (text) => {
    const value = /^\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : NaN;
    if (!accepts(value)) throw new InvalidValue(rule);
    return value;
  };
}

export const boolean: ValueReader<boolean> = (text) => {
  switch (text.toLowerCase()) {
    case 'true':
    case '1':
      return true;
    case 'false':
    case '0':
      return false;
    default:
      throw new InvalidValue('must be true or false');
  }
};

export function characters(max: number): ValueReader<string> {
  return (text) => {
    // Code points, as PostgreSQL counts them, not UTF-16 units.
    if (Array.from(text).length > max) throw new InvalidValue(`must be at most ${max} characters`);
    return text;
  };
}

/** The name of a queue on which anybody may create jobs. */
export function freeQueueName(max: number): ValueReader<string> {
  const read = characters(max);
  return (text) => {
    if (text === WAITS_QUEUE) throw new InvalidValue(`must not be ${WAITS_QUEUE}, which is reserved`);
    return read(text);
  };
}

/** `all`, `none` or a comma list of the choices. */
export function someOf(choices: readonly string[]): ValueReader<readonly string[]> {
  return (text) => {
    if (text === 'all') return choices;
    if (text === 'none') return [];
    const names = text.split(',').map((name) => name.trim());
    if (names.every((name) => choices.includes(name))) return choices.filter((choice) => names.includes(choice));
    throw new InvalidValue(`must be all, none or a comma list of ${choices.join(', ')}`);
  };
}

export const bearerToken: ValueReader<string> = (text) => {
  if (text.trim() === '') throw new InvalidValue('must not be empty');
  const token = bearerTokenOf(text);
  if (token === null) throw new InvalidValue('must be visible ASCII characters without spaces');
  return token;
};

export const secret: ValueReader<string> = (text) => {
  if (text.trim() === '') throw new InvalidValue('must not be empty');
  return text;
};

/** "token:tenant,token:tenant". The tenant may contain colons, the token cannot: the first colon divides. */
export const apiKeys: ValueReader<ReadonlyMap<string, string>> = (text) => {
  if (text.trim() === '') throw new InvalidValue('must not be empty');
  const tenants = new Map<string, string>();
  for (const [index, raw] of text.split(',').entries()) {
    const entry = raw.trim();
    const refuse = (why: string): InvalidValue =>
      new InvalidValue(`entry ${index + 1} ${why}; entries are <token>:<tenant>`);
    const colon = entry.indexOf(':');
    if (entry === '') throw refuse('is empty');
    if (colon === -1) throw refuse('has no colon');
    const token = entry.slice(0, colon);
    const tenant = entry.slice(colon + 1).trim();
    if (token === '') throw refuse('has an empty token');
    if (tenant === '') throw refuse('has an empty tenant');
    if (bearerTokenOf(token) !== token) throw refuse('has a token with spaces or characters that no header can carry');
    const known = tenants.get(token);
    if (known !== undefined && known !== tenant) throw refuse('maps a token that already belongs to another tenant');
    tenants.set(token, tenant);
  }
  return tenants;
};

/** Null: every origin. Origins are compared as browsers send them: lower case, no path, no trailing slash. */
export const origins: ValueReader<readonly string[] | null> = (text) => {
  if (text.trim() === '*') return null;
  if (text.trim() === 'none') return [];
  return text.split(',').map((raw, index) => {
    const origin = raw.trim().toLowerCase().replace(/\/$/, '');
    if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+$/.test(origin)) {
      throw new InvalidValue(`entry ${index + 1} must be an origin such as https://app.example.com`);
    }
    return origin;
  });
};

/** Names as they stand in a `Host` header, without a port; `*` stands for any. */
export const hostNames: ValueReader<readonly string[] | '*'> = (text) => {
  if (text.trim() === '*') return '*';
  return text.split(',').map((raw, index) => {
    const name = raw.trim().toLowerCase();
    if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)) {
      throw new InvalidValue(`entry ${index + 1} must be a host name such as millrace.internal, without a port`);
    }
    return name;
  });
};

/** An address of HTTP without a path of its own to remember: what is behind it is added to it. */
export const httpUrl: ValueReader<string> = (text) => {
  const url = text.trim().replace(/\/+$/, '');
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new InvalidValue('must begin with http:// or https://');
  return url;
};

/** What stands for the id of a trace in `--trace-url`. */
const TRACE_ID = '{trace_id}';

/** A link is made of it: it must lead to a page and to nothing else. */
export const traceUrl: ValueReader<string> = (text) => {
  const url = text.trim();
  if (!/^https?:\/\//.test(url) || !URL.canParse(url.replaceAll(TRACE_ID, '0')))
    throw new InvalidValue('must begin with http:// or https://');
  if (!url.includes(TRACE_ID)) throw new InvalidValue(`must have ${TRACE_ID} where the id of a trace belongs`);
  return url;
};

export type DatabaseAddress =
  | { readonly kind: 'url'; readonly url: string }
  /** Several, which know themselves what each of them holds. */
  | { readonly kind: 'urls'; readonly urls: readonly string[] }
  /** `cells`: how many databases it has; absent: one. */
  | { readonly kind: 'embedded'; readonly dir: string; readonly cells?: number }
  /** Several, which a file lists. */
  | { readonly kind: 'cells'; readonly file: string };

export const MAX_CELLS = 256;

/** How many, or a file that lists them. */
export const cellList: ValueReader<number | string> = (text) => {
  if (!/^\d+$/.test(text)) return text;
  return integer(1, 64)(text);
};

/** Where one of several addresses ends: a comma alone may stand within one. */
const BETWEEN = /\n|[\s,]+(?=postgres(?:ql)?:\/\/)/;

/** One, or several that are divided by commas, spaces or lines. */
export const databaseAddress: ValueReader<DatabaseAddress> = (text) => {
  const entries = text.trim().split(BETWEEN);
  if (entries.length === 1) return oneDatabase(text);
  if (entries.length > MAX_CELLS) throw new InvalidValue(`must name at most ${MAX_CELLS} databases`);
  const urls = entries.map((entry, index) => {
    try {
      return postgresUrl(entry);
    } catch (error) {
      throw new InvalidValue(`${(error as Error).message} (number ${index + 1} of ${entries.length})`);
    }
  });
  const twice = urls.findIndex((url, index) => urls.indexOf(url) !== index);
  if (twice !== -1) throw new InvalidValue(`names the same database twice (number ${twice + 1})`);
  return { kind: 'urls', urls };
};

const oneDatabase: ValueReader<DatabaseAddress> = (text) => {
  const url = text.trim();
  if (url.startsWith('embedded:')) {
    const dir = url.slice('embedded:'.length);
    if (dir === '') throw new InvalidValue('must name a directory after embedded:');
    return { kind: 'embedded', dir };
  }
  if (!POSTGRES.test(url)) throw new InvalidValue('must begin with postgres://, postgresql:// or embedded:');
  return { kind: 'url', url: wellFormed(url) };
};

export const postgresUrl: ValueReader<string> = (text) => {
  const url = text.trim();
  if (!POSTGRES.test(url)) throw new InvalidValue('must begin with postgres:// or postgresql://');
  return wellFormed(url);
};

const POSTGRES = /^postgres(ql)?:\/\//;

function wellFormed(url: string): string {
  // libpq allows "user:password@/db?host=/socket/dir", which the URL standard does not; the rest must be a URL.
  if (!URL.canParse(url.replace('@/', '@localhost/'))) {
    throw new InvalidValue('is not a valid URL; percent-encode special characters in the password');
  }
  return url;
}
