import { JSON_MAX_DEPTH } from '@millrace/contract';
import { STEP_UNITS, type Steps } from './steps.js';

/**
 * Checks JSON without parsing it: what it accepts, JSON.parse accepts, and the other way round. JSON.parse makes a
 * value of everything, and takes a hundred times as long for objects without number as for plain text. This makes
 * nothing, and takes about the same time per character whatever the text says.
 */

/** What comes instead of a position where the text is no JSON, or is nested too deeply. */
export const INVALID = -1;
export const TOO_DEEP = -2;
/** Of a check that is to go on (`checkRest`). */
export const PAUSED = -3;

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_U = 0x75;

interface Check {
  at: number;
  /** How many containers the value is in. */
  level: number;
  depth: number;
  /** By level: whether the container there is an object. */
  readonly isObject: Uint8Array;
}

/** The check that began last. Nothing awaits within a step, so all share it. */
const latest: Check = { at: 0, level: 0, depth: 0, isObject: new Uint8Array(JSON_MAX_DEPTH + 1) };

/**
 * The position after the value that begins at `start`, or INVALID or TOO_DEEP. `level`: how many containers it is in.
 */
export const checkValue = (text: string, start: number, level: number): number =>
  checkStep(text, start, level, Infinity);

/** The same, but PAUSED after about `step` units. */
export function checkStep(text: string, start: number, level: number, step = STEP_UNITS): number {
  latest.at = start;
  latest.level = latest.depth = level;
  return proceed(text, latest, start + step);
}

/** Goes on, in steps, with the check that has just paused. */
export function* checkRest(text: string, step = STEP_UNITS): Steps<number> {
  const mine = { ...latest, isObject: latest.isObject.slice() };
  for (;;) {
    yield;
    const end = proceed(text, mine, mine.at + step);
    if (end !== PAUSED) return end;
  }
}

function proceed(text: string, check: Check, until: number): number {
  const { level, isObject } = check;
  let { depth, at } = check;
  for (;;) {
    if (at >= until) {
      check.depth = depth;
      check.at = at;
      return PAUSED;
    }
    const unit = text.charCodeAt(at);
    if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      if (depth === JSON_MAX_DEPTH) return TOO_DEEP;
      const inside = skipSpace(text, at + 1);
      const first = text.charCodeAt(inside);
      if (first === (unit === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) at = inside + 1;
      else {
        isObject[++depth] = unit === OPEN_BRACE ? 1 : 0;
        at = unit === OPEN_BRACE ? checkKey(text, inside) : inside;
        if (at < 0) return at;
        continue;
      }
    } else {
      at = checkScalar(text, at);
      if (at < 0) return at;
    }
    // A value has ended: so may have what it is in, and what that is in.
    for (; ; depth--, at++) {
      if (depth === level) return at;
      at = skipSpace(text, at);
      const next = text.charCodeAt(at);
      if (next === COMMA) break;
      if (next !== (isObject[depth] === 1 ? CLOSE_BRACE : CLOSE_BRACKET)) return INVALID;
    }
    at = skipSpace(text, at + 1);
    if (isObject[depth] === 1) at = checkKey(text, at);
    if (at < 0) return at;
  }
}

/** From where a key should begin to the value that it names, or INVALID. */
function checkKey(text: string, start: number): number {
  if (text.charCodeAt(start) !== QUOTE) return INVALID;
  const end = checkString(text, start);
  return end < 0 ? end : checkColon(text, end);
}

/** From the end of a key to the value that it names, or INVALID. */
export function checkColon(text: string, keyEnd: number): number {
  const colon = skipSpace(text, keyEnd);
  return text.charCodeAt(colon) === COLON ? skipSpace(text, colon + 1) : INVALID;
}

/** The position after the string whose opening quote is at `start`, or INVALID. */
export function checkString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at + 1;
    if (unit === BACKSLASH) {
      at = endOfEscape(text, at + 1);
      if (at < 0) return INVALID;
    } else if (!(unit >= 0x20)) return INVALID; // NaN is the end of the text.
  }
}

const ESCAPED = new Set(['"', '\\', '/', 'b', 'f', 'n', 'r', 't'].map((each) => each.charCodeAt(0)));

/** The last position of the escape whose letter is at `at`. */
function endOfEscape(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit !== LOWER_U) return ESCAPED.has(unit) ? at : INVALID;
  for (let digit = at + 1; digit <= at + 4; digit++) if (!isHex(text.charCodeAt(digit))) return INVALID;
  return at + 4;
}

const isHex = (unit: number): boolean =>
  isDigit(unit) || (unit >= 0x41 && unit <= 0x46) || (unit >= 0x61 && unit <= 0x66);

const LITERALS: ReadonlyMap<number, string> = new Map(
  ['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]),
);

function checkScalar(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit === QUOTE) return checkString(text, at);
  if (unit === MINUS || isDigit(unit)) return checkNumber(text, at);
  const word = LITERALS.get(unit);
  return word !== undefined && text.startsWith(word, at) ? at + word.length : INVALID;
}

function checkNumber(text: string, start: number): number {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start;
  let at = text.charCodeAt(first) === ZERO ? first + 1 : skipDigits(text, first);
  if (at === first) return INVALID;
  if (text.charCodeAt(at) === POINT) {
    const fraction = at + 1;
    at = skipDigits(text, fraction);
    if (at === fraction) return INVALID;
  }
  const letter = text.charCodeAt(at);
  if (letter !== 0x65 && letter !== 0x45) return at;
  const sign = text.charCodeAt(at + 1);
  const exponent = sign === PLUS || sign === MINUS ? at + 2 : at + 1;
  at = skipDigits(text, exponent);
  return at === exponent ? INVALID : at;
}

function skipDigits(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at++;
  return at;
}

export function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at++;
  return at;
}

export const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
const isDigit = (unit: number): boolean => unit >= ZERO && unit <= NINE;
