import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from './json-syntax.js';
import { STEP_UNITS, type Steps } from './steps.js';

/**
 * Finds the exact source text of fields in a JSON document, so that what a caller sent is what is stored: numbers
 * beyond 2^53, the spelling of escapes and the order of keys survive.
 *
 * The text must already be known to be JSON (json-syntax.ts). That keeps the scanner small and fast: it looks for
 * boundaries and never has to check anything. It stands here as a whole, and is not shared with the SDK, which cuts
 * JSON as well (packages/sdk/src/json/slices.ts): every payload goes through it, and taken apart into two modules it
 * took 5 to 10 % longer.
 */

const BACKSLASH = 0x5c;

/**
 * The texts of the named fields of a JSON object, in the order of `names`; undefined where a field is absent.
 * The last of several duplicate keys counts, as in JSON.parse.
 */
export function rawFields(text: string, names: readonly string[]): (string | undefined)[] {
  const found = noneOf(names);
  eachField(text, 0, collect(text, names, found));
  return found;
}

/** The texts of the members of a JSON object that `wanted` has; the last of several duplicate keys counts. */
export function membersNamed(text: string, wanted: { has(key: string): boolean }): Map<string, string> {
  const found = new Map<string, string>();
  eachField(text, 0, (key, start, end) => {
    if (wanted.has(key)) found.set(key, text.slice(start, end));
  });
  return found;
}

/** The items of a JSON array, as their texts. */
export function rawItems(text: string): string[] {
  const items: string[] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    at = nextAfter(text, end);
  }
  return items;
}

/** The same for each object of a JSON array. Of an item that is no object, no field is found. */
export function rawFieldsOfEach(text: string, names: readonly string[]): (string | undefined)[][] {
  const all: (string | undefined)[][] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACKET) {
    const found = noneOf(names);
    at = nextAfter(text, endOfItem(text, at, names, found));
    all.push(found);
  }
  return all;
}

/**
 * The same for the list of that name in a JSON object, in one walk over the object. Of several such lists the last
 * counts; without one there are no items.
 */
export function* fieldsOfItems(text: string, list: string, names: readonly string[]): Steps<(string | undefined)[][]> {
  let all: (string | undefined)[][] = [];
  let pausedAt = 0;
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  const isTimeToPause = (): boolean => {
    if (at - pausedAt < STEP_UNITS) return false;
    pausedAt = at;
    return true;
  };
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyEnd = endOfString(text, at);
    const isList = keyOf(text, at, keyEnd) === list;
    at = skipSpace(text, skipSpace(text, keyEnd) + 1);
    if (isList) all = [];
    if (isList && text.charCodeAt(at) === OPEN_BRACKET) {
      at = skipSpace(text, at + 1);
      while (text.charCodeAt(at) !== CLOSE_BRACKET) {
        const found = noneOf(names);
        at = nextAfter(text, endOfItem(text, at, names, found));
        all.push(found);
        if (isTimeToPause()) yield;
      }
      at = nextAfter(text, at + 1);
    } else at = nextAfter(text, yield* endOfValueInSteps(text, at));
    if (isTimeToPause()) yield;
  }
  return all;
}

/** From the end of an item or member to the next, or to the end of what they are in. */
function nextAfter(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at;
}

function endOfItem(text: string, at: number, names: readonly string[], found: (string | undefined)[]): number {
  const isObject = text.charCodeAt(at) === OPEN_BRACE;
  return isObject ? eachField(text, at, collect(text, names, found)) : endOfValue(text, at);
}

/** `start` and `end` are those of the value. */
type Visit = (key: string, start: number, end: number, keyStart: number) => void;

const noneOf = (names: readonly string[]): (string | undefined)[] => new Array<undefined>(names.length).fill(undefined);

const collect =
  (text: string, names: readonly string[], found: (string | undefined)[]): Visit =>
  (key, start, end) => {
    const field = names.indexOf(key);
    if (field !== -1) found[field] = text.slice(start, end);
  };

/**
 * Visits the members of a JSON object by their places: from the key to the end of the value, of which nobody need make
 * a text. The key is what stands between `keyStart` and `keyEnd` in
 * `keyText`: in the text itself, unless it is written with escapes.
 */
export function eachMemberAt(
  text: string,
  visit: (keyText: string, keyStart: number, keyEnd: number, start: number, end: number) => void,
): void {
  eachPlace(text, 0, (keyStart, keyEnd, _start, end) => {
    for (let at = keyStart + 1; at < keyEnd - 1; at++) {
      if (text.charCodeAt(at) !== BACKSLASH) continue;
      const key = keyOf(text, keyStart, keyEnd);
      return visit(key, 0, key.length, keyStart, end);
    }
    visit(text, keyStart + 1, keyEnd - 1, keyStart, end);
  });
}

/** Visits the fields of the object that begins at `from`, white space aside; returns the position after the object. */
export function eachField(text: string, from: number, visit: Visit): number {
  return eachPlace(text, from, (keyStart, keyEnd, start, end) =>
    visit(keyOf(text, keyStart, keyEnd), start, end, keyStart),
  );
}

/** The quotes of the key are within its places. */
type VisitPlace = (keyStart: number, keyEnd: number, start: number, end: number) => void;

function eachPlace(text: string, from: number, visit: VisitPlace): number {
  let at = skipSpace(text, skipSpace(text, from) + 1);
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const keyEnd = endOfString(text, at);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = endOfValue(text, start);
    visit(at, keyEnd, start, end);
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return at + 1;
}

/** How deep arrays and objects are nested: 0 for a bare value, 1 for `{}`. */
export function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(text, at) - 1;
    else if (isOpening(unit)) deepest = Math.max(deepest, ++depth);
    else if (isClosing(unit)) depth--;
  }
  return deepest;
}

/** Between the quotes, with escapes resolved: `"payload"` and `"\u0070ayload"` are the same key. */
export function keyOf(text: string, start: number, end: number): string {
  const key = text.slice(start + 1, end - 1);
  return key.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : key;
}

/** After so many units without a backslash, the next quote is searched for again. */
const NEAR = 16;

/**
 * `at` is the position of the opening quote; returns the position after the closing one. Searching is the fastest way
 * through plain text, but not through text in which every second unit is an escaped quote: after one of those, we walk
 * from unit to unit until there are no more.
 */
function endOfString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1);
  while (isEscaped(text, end)) {
    for (let plain = 0; plain < NEAR; plain++) {
      const unit = text.charCodeAt(++end);
      if (unit === QUOTE) return end + 1;
      if (unit !== BACKSLASH) continue;
      end++;
      plain = 0;
    }
    end = text.indexOf('"', end + 1);
  }
  return end + 1;
}

/** A quote is escaped if an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === BACKSLASH) before--;
  return (at - before) % 2 === 0;
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  return isOpening(first) ? endOfContainer(text, start) : endOfScalar(text, start);
}

function* endOfValueInSteps(text: string, start: number): Steps<number> {
  if (!isOpening(text.charCodeAt(start))) return endOfValue(text, start);
  let at = passContainer(text, start, 0, start + STEP_UNITS);
  for (let depth = openDepth; depth > 0; depth = openDepth) {
    yield;
    at = passContainer(text, at, depth, at + STEP_UNITS);
  }
  return at;
}

const endOfContainer = (text: string, start: number): number => passContainer(text, start, 0, Infinity);

/** How many containers were still open where the last pass ended. */
let openDepth = 0;

/** `from` is in the middle of that many containers, or at the opening bracket of one. */
function passContainer(text: string, from: number, open: number, until: number): number {
  let depth = open;
  let at = from;
  do {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (isOpening(unit)) depth++;
    else if (isClosing(unit)) depth--;
    at++;
  } while (depth > 0 && at < until);
  openDepth = depth;
  return at;
}

/** A number, true, false or null ends before the first character that cannot belong to it. */
function endOfScalar(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === COMMA || isClosing(unit) || isSpace(unit)) break;
    at++;
  }
  return at;
}

const isOpening = (unit: number): boolean => unit === OPEN_BRACE || unit === OPEN_BRACKET;
const isClosing = (unit: number): boolean => unit === CLOSE_BRACE || unit === CLOSE_BRACKET;
