import { parseQueryInstant } from './instant.js';
import type { Refuse } from './refusal.js';
import { isStorableText } from './text.js';

/** The parameters of a query string, by name; one that is given twice is a list. */
export type QueryParameters = Readonly<Record<string, unknown>>;

export interface Limits {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

/** What a cursor is refused with that did not come from a page of this list. */
export const BAD_CURSOR = {
  error: 'cursor is not one that this service issued',
  detail: { path: 'cursor', message: 'is not a valid cursor' },
} as const;

const WHOLE_NUMBER = /^-?\d+$/;

/** What a number that is out of its range is replaced by, or null. Text that is no number is not looked at. */
export function clampedTo(text: unknown, { minimum, maximum }: Omit<Limits, 'default'>): number | null {
  if (typeof text !== 'string' || !WHOLE_NUMBER.test(text)) return null;
  const number = Number(text);
  return number < minimum ? minimum : number > maximum ? maximum : null;
}

/**
 * How parameters are read from the text that they are. What is absent is null, or has a default; what cannot be read is
 * refused.
 */
export class QueryReader {
  readonly #refuse: Refuse;

  constructor(refuse: Refuse) {
    this.#refuse = refuse;
  }

  text(query: QueryParameters, name: string): string | null {
    const value = query[name];
    if (value === undefined) return null;
    if (typeof value !== 'string') throw this.#refuse(name, 'must be given once');
    if (!isStorableText(value)) throw this.#refuse(name, 'must not contain NUL characters');
    return value;
  }

  /** Numbers too large to represent are clamped as well: it only matters on which side of the range they are. */
  wholeNumber(query: QueryParameters, name: string, limits: Limits): number {
    const text = this.text(query, name);
    if (text === null) return limits.default;
    if (!WHOLE_NUMBER.test(text)) throw this.#refuse(name, 'must be an integer');
    return clampedTo(text, limits) ?? Number(text);
  }

  truth(query: QueryParameters, name: string): boolean {
    switch (this.text(query, name)) {
      case null:
      case 'false':
      case '0':
        return false;
      case 'true':
      case '1':
        return true;
      default:
        throw this.#refuse(name, 'must be true or false');
    }
  }

  instant(query: QueryParameters, name: string): string | null {
    const text = this.text(query, name);
    if (text === null) return null;
    const parsed = parseQueryInstant(text);
    if (parsed === null) throw this.#refuse(name, 'must be an RFC 3339 instant with an offset or Z');
    return parsed;
  }

  oneOf<T extends string>(query: QueryParameters, name: string, words: readonly T[]): T | null {
    const text = this.text(query, name);
    if (text === null) return null;
    const word = words.find((each) => each === text);
    if (word === undefined) throw this.#refuse(name, `must be one of ${words.join(', ')}`);
    return word;
  }

  /** Words separated by commas, in the order of `words`; none if there is nothing to choose from. */
  someOf<T extends string>(query: QueryParameters, name: string, words: readonly T[]): readonly T[] {
    const text = this.text(query, name);
    if (text === null) return [];
    const given = new Set(text.split(',').map((each) => each.trim()));
    const known = words.filter((word) => given.has(word));
    if (known.length < given.size) throw this.#refuse(name, `must be one or more of ${words.join(', ')}`);
    return known;
  }
}
