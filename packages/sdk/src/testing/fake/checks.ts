import { isObject, type JsonObject } from '../../json/object.js';
import { characterCount, isInstant, isLongerThan, isStorableText, NOT_STORABLE } from '../../rules/index.js';
import * as limits from '../../rules/limits.js';
import { invalid, Problem } from './problem.js';

/** How single values of requests are checked; shapes.ts says which. */

/** Checks one value, given its path. */
export type Check = (value: unknown, path: string) => void;
export interface Range {
  readonly minimum: number;
  readonly maximum: number;
}
export type Shape = Readonly<Record<string, { readonly check: Check; readonly required?: boolean }>>;

export const text: Check = (value, path) => {
  if (typeof value !== 'string') throw invalid(path, 'must be string');
};
export const filled: Check = (value, path) => {
  text(value, path);
  if (value === '') throw invalid(path, 'must not be empty');
  if (!isStorableText(value as string)) throw invalid(path, NOT_STORABLE);
  if (characterCount(value as string) > limits.NAME_MAX_LENGTH)
    throw invalid(path, `must have at most ${limits.NAME_MAX_LENGTH} characters`);
};
export const name: Check = (value, path) => {
  filled(value, path);
  if (!/\S/.test(value as string)) throw invalid(path, 'must not be blank');
};
/** The key of a limit, or of a unique job. */
export const limitKey: Check = (value, path) => {
  filled(value, path);
  const { maxLength } = limits.LIMIT_KEY_LENGTH;
  if (characterCount(value as string) > maxLength) throw invalid(path, `must have at most ${maxLength} characters`);
};
export const object: Check = (value, path) => {
  if (!isObject(value)) throw invalid(path, 'must be object');
};
/** JSON that belongs to the caller. */
export const json =
  (maxBytes: number): Check =>
  (value, path) => {
    object(value, path);
    if (!isLongerThan(maxBytes, JSON.stringify(value))) return;
    const message = `must be at most ${maxBytes} bytes of JSON`;
    throw new Problem('payload_too_large', `${path} ${message}`, [{ path, message }]);
  };
export const payload = json(limits.DEFAULT_MAX_PAYLOAD_BYTES);
export const progress = json(limits.PROGRESS_MAX_BYTES);
export const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') throw invalid(path, 'must be boolean');
};
export const integer =
  (range: Range): Check =>
  (value, path) => {
    if (!Number.isInteger(value)) throw invalid(path, 'must be integer');
    between(value as number, path, range);
  };
/** Numbers outside their range are clamped later, not refused. */
export const clamped: Check = (value, path) => {
  if (!Number.isInteger(value)) throw invalid(path, 'must be integer');
};
export const fraction =
  (range: Range): Check =>
  (value, path) => {
    if (typeof value !== 'number') throw invalid(path, 'must be number');
    between(value, path, range);
  };
export const word =
  (...words: string[]): Check =>
  (value, path) => {
    if (!words.includes(value as string)) throw invalid(path, `must be one of ${words.join(', ')}`);
  };
export const instant: Check = (value, path) => {
  text(value, path);
  if (!isInstant(value as string)) throw invalid(path, 'must be an RFC 3339 instant with an offset or Z');
};
export const list =
  (item: Check, { minimum, maximum }: Range): Check =>
  (value, path) => {
    if (!Array.isArray(value)) throw invalid(path, 'must be array');
    if (value.length < minimum) throw invalid(path, `must have at least ${minimum} item`);
    if (value.length > maximum) throw invalid(path, `must have at most ${maximum} items`);
    value.forEach((each, index) => item(each, `${path}[${index}]`));
  };
export const nested =
  (shape: () => Shape): Check =>
  (value, path) => {
    object(value, path);
    checkFields(value as JsonObject, shape(), path);
  };

function between(value: number, path: string, { minimum, maximum }: Range): void {
  if (value < minimum) throw invalid(path, `must be >= ${minimum}`);
  if (value > maximum) throw invalid(path, `must be <= ${maximum}`);
}

/** The SDK asks for strict handling, so a field that the service does not know is refused. */
function checkFields(fields: JsonObject, shape: Shape, at: string): void {
  const path = (field: string): string => (at === '' ? field : `${at}.${field}`);
  for (const field of Object.keys(fields)) {
    if (!Object.hasOwn(shape, field)) throw invalid(path(field), 'is not a known field');
  }
  for (const [field, { check, required = false }] of Object.entries(shape)) {
    const value = fields[field];
    if (value !== undefined && value !== null) check(value, path(field));
    else if (required) throw invalid(path(field), 'is required');
  }
}

/** The body of a request, checked. */
export function checkBody<T>(body: unknown, shape: Shape): T {
  if (!isObject(body)) throw new Problem('invalid_request', 'the body must be a JSON object');
  checkFields(body, shape, '');
  return body as T;
}

/** The name of a checkpoint or a signal. */
export const shortName: Check = (value, path) => {
  filled(value, path);
  if (characterCount(value as string) > limits.CHECKPOINT_NAME_MAX_LENGTH)
    throw invalid(path, `must have at most ${limits.CHECKPOINT_NAME_MAX_LENGTH} characters`);
};
/** Any JSON. */
export const anything =
  (maxBytes: number): Check =>
  (value, path) => {
    if (!isLongerThan(maxBytes, JSON.stringify(value))) return;
    const message = `must be at most ${maxBytes} bytes of JSON`;
    throw new Problem('payload_too_large', `${path} ${message}`, [{ path, message }]);
  };
