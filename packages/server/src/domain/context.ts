import { KeyTable } from './key-table.js';
import { isEmptyObject, memberText, withoutMember } from './json-members.js';
import { eachMemberAt } from './raw-json.js';

/**
 * The context of a workflow, as JSON text throughout. When a step completes, the keys of its result are merged, later
 * completions winning, and the whole result is stored under the step's own name. Names of completed steps win over
 * keys, whichever came first.
 *
 * `_context` in a result never enters, neither as a key nor within the result under its step's name: a handler that
 * hands its payload back would otherwise put the context into itself, and a chain of such steps would double it each
 * time.
 */
export interface StepResult {
  readonly name: string;
  readonly result: string;
}

const RESERVED = '_context';

/** `results` are in order of completion. `completed`: the names of the steps that completed before these. */
export function mergeResults(context: string, results: readonly StepResult[], completed: readonly string[]): string {
  if (results.length === 0) return context;
  const merged = new Members();
  merged.putAll(context);
  const taken = new KeyTable();
  for (const name of completed) taken.numberOf(name, 0, name.length);
  for (const { name, result } of results) {
    const own = withoutReserved(result);
    merged.putAll(own, taken);
    const member = memberText(name, own);
    merged.put(name, 0, name.length, member, 0, member.length);
    taken.numberOf(name, 0, name.length);
  }
  return merged.text();
}

/** The members of an object by their keys, as places in the texts that they come from. */
class Members {
  readonly #keys = new KeyTable();
  readonly #texts: string[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  /** Without those whose keys are taken. */
  putAll(text: string, taken: KeyTable | null = null): void {
    eachMemberAt(text, (keyText, keyStart, keyEnd, start, end) => {
      if (taken?.has(keyText, keyStart, keyEnd) !== true) this.put(keyText, keyStart, keyEnd, text, start, end);
    });
  }

  /** In the place of the one with the same key, or at the end. */
  put(keyText: string, keyStart: number, keyEnd: number, text: string, start: number, end: number): void {
    const place = this.#keys.numberOf(keyText, keyStart, keyEnd);
    this.#texts[place] = text;
    this.#starts[place] = start;
    this.#ends[place] = end;
  }

  text(): string {
    const pieces: string[] = [];
    const count = this.#texts.length;
    for (let from = 0, next = 1; from < count; from = next++) {
      const text = this.#texts[from]!;
      // Neighbours with nothing but a comma between them are one piece.
      while (next < count && this.#texts[next] === text && this.#starts[next] === this.#ends[next - 1]! + 1) next++;
      pieces.push(text.slice(this.#starts[from], this.#ends[next - 1]));
    }
    return `{${pieces.join(',')}}`;
  }
}

/** The context with the keys of another object put over its own. */
export function withKeys(context: string, keys: string): string {
  const merged = new Members();
  merged.putAll(context);
  merged.putAll(keys);
  return merged.text();
}

/**
 * How many bytes a result adds to the counted size of its context: the result as it enters, counted once although the
 * context holds it twice. The limit on a context is then in the same measure as the limit on a result, and the text of
 * a context is at most about twice as long. An empty result adds nothing.
 */
export function enteringBytes(result: string): number {
  if (result === '{}') return 0;
  const own = withoutReserved(result);
  return own === '{}' ? 0 : Buffer.byteLength(own);
}

const withoutReserved = (text: string): string => (mayHoldReserved(text) ? withoutMember(text, RESERVED) : text);

/** The key may be written plainly or with escapes. */
const mayHoldReserved = (text: string): boolean => text.includes(RESERVED) || text.includes('\\u');

/** The payload of a step without the context that it is given on delivery. A key of the same name is dropped. */
export function withoutContext(payload: string): string {
  const own = withoutReserved(payload);
  return isEmptyObject(own) ? '{}' : own;
}

/**
 * The payload of a step's job with its context, from a payload that `withoutContext` made. Nothing is copied here: the
 * strings are joined by reference, and become one when the text is parsed or written.
 */
export function composePayload(payload: string, context: string): string {
  return `${payload === '{}' ? '{' : `${payload.slice(0, -1)},`}"${RESERVED}":${context}}`;
}

export const withContext = (payload: string, context: string): string =>
  composePayload(withoutContext(payload), context);

/** Below this, a context is parsed with the payload. */
const LARGE_CONTEXT = 64 * 1024;

/**
 * The same payload as an object. A large context is parsed when somebody first looks at it: hundreds of steps may
 * receive the same megabytes, and most of them need a little of it or nothing.
 */
export function parsePayload(payload: string, context: string | null): Record<string, unknown> {
  const parsed = JSON.parse(payload) as Record<string, unknown>;
  if (context === null) return parsed;
  if (context.length < LARGE_CONTEXT) parsed[RESERVED] = JSON.parse(context);
  else defineLazily(parsed, RESERVED, () => JSON.parse(context));
  return parsed;
}

/** The property is computed once, copied and written like any other, and can be replaced. */
function defineLazily(object: object, key: string, compute: () => unknown): void {
  let found: { readonly value: unknown } | null = null;
  Object.defineProperty(object, key, {
    configurable: true,
    enumerable: true,
    get: () => (found ??= { value: compute() }).value,
    set: (value: unknown) => (found = { value }),
  });
}
