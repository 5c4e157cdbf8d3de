import { JSON_MAX_DEPTH } from '@millrace/contract';
import {
  checkColon,
  checkRest,
  checkStep,
  checkString,
  checkValue,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  INVALID,
  OPEN_BRACE,
  OPEN_BRACKET,
  PAUSED,
  QUOTE,
  skipSpace,
  TOO_DEEP,
} from './json-syntax.js';
import { keyOf, nestingDepth } from './raw-json.js';
import { atOnce, STEP_UNITS, type Steps } from './steps.js';

/**
 * Reads JSON that others wrote, in a time that its length bounds and not its content (ADR 31). JSON.parse makes a value
 * of everything, which for a megabyte of empty objects takes two hundred milliseconds. So of a text that is dense with
 * structure only the outline is parsed: the text itself, but with `{}` and `[]` for all that its reader never looks
 * into, because it belongs to the caller or means nothing here. The rest is checked, not parsed.
 */

/** What a reader looks at in a value. */
export type Part =
  | { readonly kind: 'scalar' }
  /** Whether it is an object, a list or neither, and no more. */
  | { readonly kind: 'opaque' }
  | { readonly kind: 'object'; readonly members: ReadonlyMap<string, Part> }
  /** `most`: how many items it may have. Of a list with more, it is enough to know that. */
  | { readonly kind: 'list'; readonly items: Part; readonly most: number };

export const SCALAR: Part = { kind: 'scalar' };
export const OPAQUE: Part = { kind: 'opaque' };

export type ReadJson =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'invalid' | 'too deep' | 'too many containers' };

/**
 * A text with no more commas and opening brackets than this is parsed as a whole, which takes ten milliseconds at most,
 * and a tenth of what an outline takes for nearly everything that callers send: a thousand jobs with a configuration
 * each have about ten thousand.
 */
const DENSE = 32_768;

/** So many members that the reader does not know stay in an outline, to be told of. */
const STRANGERS_KEPT = 64;

const TOO_MANY = -4;

/** The value of a JSON text. Of a dense one, no more than `partOf` says; it is not asked for the others. */
export function readJson(text: string, partOf: () => Part): ReadJson {
  return isDense(text) ? readOutline(text, partOf()) : parseWhole(text);
}

/** The same in steps, for a text that may be long. */
export function* readJsonInSteps(text: string, partOf: () => Part): Steps<ReadJson> {
  if (!isDense(text)) return parseWhole(text);
  yield;
  return yield* outlineInSteps(text, partOf());
}

const isDense = (text: string): boolean => has(text, DENSE, ['{', '[', ',']);

function parseWhole(text: string): ReadJson {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: 'invalid' };
  }
  // Each level takes two brackets, so a text that is short or has few of those need not be checked.
  const isDeep = text.length > 2 * JSON_MAX_DEPTH && has(text, JSON_MAX_DEPTH, ['{', '[']);
  return isDeep && nestingDepth(text) > JSON_MAX_DEPTH ? { kind: 'too deep' } : { kind: 'read', value };
}

/** Whether more than `most` of the characters are in the text. */
function has(text: string, most: number, characters: readonly string[]): boolean {
  if (text.length <= most) return false;
  let found = 0;
  for (const character of characters)
    for (let at = text.indexOf(character); at !== -1; at = text.indexOf(character, at + 1))
      if (++found > most) return true;
  return false;
}

/** Exported for tests: everything else reads through `readJson`. */
export const readOutline = (text: string, part: Part): ReadJson => atOnce(outlineInSteps(text, part));

function* outlineInSteps(text: string, part: Part): Steps<ReadJson> {
  const draft = new Draft(text, containersIn(part) + STRANGERS_KEPT);
  const end = yield* draft.value(skipSpace(text, 0), part, 0);
  if (end === TOO_DEEP) return { kind: 'too deep' };
  if (end === TOO_MANY) return { kind: 'too many containers' };
  if (end < 0 || skipSpace(text, end) !== text.length) return { kind: 'invalid' };
  return { kind: 'read', value: JSON.parse(draft.outline()) };
}

/** How many objects and lists a value can need, if each of its members is one: only repeated members make it more. */
function containersIn(part: Part): number {
  if (part.kind === 'object') return [...part.members.values()].reduce((sum, member) => sum + containersIn(member), 1);
  if (part.kind === 'list') return 1 + (part.items.kind === 'scalar' ? 0 : (part.most + 1) * containersIn(part.items));
  return 1;
}

/**
 * A walk over the document that gathers what of it stays. Each method takes the position of something and returns the
 * position after it, or what is wrong.
 */
class Draft {
  readonly #pieces: string[] = [];
  /** Up to here, the document is in the pieces or cut out. */
  #done = 0;
  #strangers = 0;
  #containers = 0;
  #pausedAt = 0;

  constructor(
    private readonly text: string,
    private readonly mostContainers: number,
  ) {}

  outline(): string {
    this.#pieces.push(this.text.slice(this.#done));
    return this.#pieces.join('');
  }

  *value(at: number, part: Part, level: number): Steps<number> {
    const unit = this.text.charCodeAt(at);
    if (unit !== OPEN_BRACE && unit !== OPEN_BRACKET) return checkValue(this.text, at, level);
    if (level === JSON_MAX_DEPTH) return TOO_DEEP;
    if (++this.#containers > this.mostContainers) return TOO_MANY;
    if (unit === OPEN_BRACE && part.kind === 'object') return yield* this.#object(at, part.members, level + 1);
    if (unit === OPEN_BRACKET && part.kind === 'list') return yield* this.#list(at, part.items, part.most, level + 1);
    const end = yield* this.#check(at, level);
    if (end > at + 2) this.#cut(at, end, unit === OPEN_BRACE ? '{}' : '[]');
    return end;
  }

  *#object(start: number, members: ReadonlyMap<string, Part>, level: number): Steps<number> {
    const { text } = this;
    let before = start;
    let at = skipSpace(text, start + 1);
    if (text.charCodeAt(at) === CLOSE_BRACE) return at + 1;
    for (;;) {
      const end = yield* this.#member(before, at, members, level);
      if (end < 0) return end;
      if (this.#isTimeToPause(end)) yield;
      before = skipSpace(text, end);
      const next = text.charCodeAt(before);
      if (next === CLOSE_BRACE) return before + 1;
      if (next !== COMMA) return INVALID;
      at = skipSpace(text, before + 1);
    }
  }

  /** `before`: the position of the comma or brace before it. */
  *#member(before: number, key: number, members: ReadonlyMap<string, Part>, level: number): Steps<number> {
    const { text } = this;
    const keyEnd = text.charCodeAt(key) === QUOTE ? checkString(text, key) : INVALID;
    const start = keyEnd < 0 ? INVALID : checkColon(text, keyEnd);
    if (start < 0) return start;
    const part = members.get(keyOf(text, key, keyEnd));
    if (part !== undefined) return yield* this.value(start, part, level);
    // The first member always stays: without it, the next would begin with a comma.
    if (text.charCodeAt(before) !== COMMA || ++this.#strangers <= STRANGERS_KEPT)
      return yield* this.value(start, OPAQUE, level);
    const end = yield* this.#check(start, level);
    if (end > 0) this.#cut(before, end, '');
    return end;
  }

  *#list(start: number, items: Part, most: number, level: number): Steps<number> {
    const { text } = this;
    let at = skipSpace(text, start + 1);
    if (text.charCodeAt(at) === CLOSE_BRACKET) return at + 1;
    /** Where the items begin that are too many. */
    let rest = Infinity;
    for (let count = 1; ; count++) {
      let end = rest === Infinity ? yield* this.value(at, items, level) : checkStep(text, at, level);
      if (end === PAUSED) end = yield* checkRest(text);
      if (end < 0) return end;
      if (this.#isTimeToPause(end)) yield;
      const next = skipSpace(text, end);
      if (text.charCodeAt(next) === CLOSE_BRACKET) {
        if (rest < next) this.#cut(rest, next, '');
        return next + 1;
      }
      if (text.charCodeAt(next) !== COMMA) return INVALID;
      if (count === most + 1) rest = next;
      at = skipSpace(text, next + 1);
    }
  }

  *#check(at: number, level: number): Steps<number> {
    const end = checkStep(this.text, at, level);
    return end === PAUSED ? yield* checkRest(this.text) : end;
  }

  #isTimeToPause(at: number): boolean {
    if (at - this.#pausedAt < STEP_UNITS) return false;
    this.#pausedAt = at;
    return true;
  }

  #cut(start: number, end: number, instead: string): void {
    if (start > this.#done) this.#pieces.push(this.text.slice(this.#done, start));
    if (instead !== '') this.#pieces.push(instead);
    this.#done = end;
  }
}
