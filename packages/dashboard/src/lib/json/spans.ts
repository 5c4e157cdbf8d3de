/**
 * Finds the parts of a JSON text without parsing it: a value is a pair of offsets into the text, and what is shown is
 * the text itself. Parsing and printing again would round large numbers and rewrite 1.10 as 1.1.
 *
 * The text comes from the server and is valid JSON. Of anything else these functions return what they can and end:
 * no offset leaves the text, and no loop goes without moving on.
 */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'literal';

export interface JsonSpan {
  readonly kind: JsonKind;
  readonly start: number;
  /** Just behind the last character. */
  readonly end: number;
}

export interface JsonMember {
  /** The key as written, with its quotes; null in an array. */
  readonly key: string | null;
  readonly value: JsonSpan;
}

const QUOTE = 34;
const COMMA = 44;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;
const COLON = 58;

const isBlank = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;
const isOpening = (code: number): boolean => code === OPEN_BRACE || code === OPEN_BRACKET;
const isClosing = (code: number): boolean => code === CLOSE_BRACE || code === CLOSE_BRACKET;

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isBlank(text.charCodeAt(at))) at++;
  return at;
}

/** `from` is the opening quote. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH && quote - 1 - slashes > from) slashes++;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** `from` is the opening bracket. A loop, not a recursion: a caller's JSON may be nested as deep as it likes. */
function endOfContainer(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
      continue;
    }
    if (isOpening(code)) depth++;
    if (isClosing(code) && --depth === 0) return at + 1;
    at++;
  }
  return text.length;
}

function endOfScalar(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === COMMA || isClosing(code) || isBlank(code)) break;
  }
  return at;
}

function valueAt(text: string, start: number): JsonSpan {
  const code = text.charCodeAt(start);
  if (code === QUOTE) return { kind: 'string', start, end: endOfString(text, start) };
  if (isOpening(code)) {
    return { kind: code === OPEN_BRACE ? 'object' : 'array', start, end: endOfContainer(text, start) };
  }
  const kind = code === 45 || (code >= 48 && code <= 57) ? 'number' : 'literal';
  return { kind, start, end: endOfScalar(text, start) };
}

/** The value that the text is; null if the text is blank. */
export function rootOf(text: string): JsonSpan | null {
  const start = skipBlanks(text, 0);
  return start < text.length ? valueAt(text, start) : null;
}

/** The members of an object or the items of an array, one after the other: a reader may stop early. */
export function* memberSpans(text: string, { kind, start, end }: JsonSpan): Generator<JsonMember> {
  if (kind !== 'object' && kind !== 'array') return;
  let at = start + 1;
  while (at < end) {
    at = skipBlanks(text, at);
    if (at >= end || isClosing(text.charCodeAt(at))) return;
    let key: string | null = null;
    if (kind === 'object') {
      const keyEnd = endOfString(text, at);
      key = text.slice(at, keyEnd);
      at = skipBlanks(text, keyEnd);
      if (text.charCodeAt(at) === COLON) at = skipBlanks(text, at + 1);
    }
    const value = valueAt(text, at);
    if (value.end === at) return;
    yield { key, value };
    at = skipBlanks(text, value.end);
    if (text.charCodeAt(at) === COMMA) at++;
  }
}

export const textOf = (text: string, { start, end }: JsonSpan): string => text.slice(start, end);

/** The name that a key stands for. */
export function keyName(key: string): string {
  try {
    return JSON.parse(key) as string;
  } catch {
    return key;
  }
}

/**
 * The text of the value at `path`, exactly as sent: `memberText(text, 'payload')`, `memberText(text, 'jobs', 3)`.
 * Of a repeated key the last value counts, as JSON.parse has it.
 */
export function memberText(text: string, ...path: readonly (string | number)[]): string | undefined {
  let span = rootOf(text);
  for (const part of path) {
    if (span === null) return undefined;
    span = find(text, span, part);
  }
  return span === null ? undefined : textOf(text, span);
}

function find(text: string, container: JsonSpan, part: string | number): JsonSpan | null {
  let found: JsonSpan | null = null;
  let index = 0;
  for (const { key, value } of memberSpans(text, container)) {
    if (typeof part === 'number') {
      if (index++ === part) return value;
    } else if (key !== null && keyName(key) === part) found = value;
  }
  return found;
}
