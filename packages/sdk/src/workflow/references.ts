import { isObject, type JsonObject } from '../json/object.js';

/** The field that makes an object in a step's payload a reference to the result of another step. */
export const REFERENCE_FIELD = '$step';

/** A result that does not exist yet, as it appears in the payload of a workflow step. */
export interface Reference {
  readonly $step: string;
  /** The fields to follow from the step's result; the whole of it if left out. */
  readonly path?: readonly string[];
}

/** Whether an object is a reference: `$step`, perhaps `path`, and nothing else. */
export function isReference(value: unknown): value is Reference {
  if (!isObject(value) || typeof value[REFERENCE_FIELD] !== 'string') return false;
  const { path } = value;
  const keys = Object.keys(value).length;
  if (path === undefined) return keys === 1;
  return keys === 2 && Array.isArray(path) && path.every((part) => typeof part === 'string');
}

/**
 * What the handler of a workflow step is to see: its payload without `_context`, with every reference replaced by what
 * it refers to. A field whose reference leads nowhere (the step failed and was passed over) is left out; in a list it
 * becomes null, so that the others keep their places.
 *
 * @example
 * stepPayload({ shelf: { $step: 'reserve', path: ['shelf'] }, _context: { reserve: { shelf: 7 } } }) // { shelf: 7 }
 */
export function stepPayload(payload: JsonObject): JsonObject {
  const { _context: context, ...fields } = payload;
  return resolveFields(fields, isObject(context) ? context : {});
}

/**
 * The same, with `_context` left where it is, for handlers that also read it.
 *
 * @example
 * resolveReferences({ n: { $step: 'a', path: ['n'] }, _context: { a: { n: 7 } } })
 * // { n: 7, _context: { a: { n: 7 } } }
 */
export function resolveReferences(payload: JsonObject): JsonObject {
  const resolved = stepPayload(payload);
  return '_context' in payload ? { ...resolved, _context: payload._context } : resolved;
}

function resolveFields(fields: JsonObject, context: JsonObject): JsonObject {
  const resolved = Object.entries(fields).map(([key, value]) => [key, resolve(value, context)] as const);
  // fromEntries defines fields and never assigns them, so that a field `__proto__` stays a field.
  return Object.fromEntries(resolved.filter(([, value]) => value !== undefined));
}

function resolve(value: unknown, context: JsonObject): unknown {
  if (isReference(value)) return lookUp(value, context);
  if (Array.isArray(value)) return value.map((item) => resolve(item, context) ?? null);
  return isObject(value) ? resolveFields(value, context) : value;
}

function lookUp({ $step: step, path = [] }: Reference, context: JsonObject): unknown {
  let at: unknown = context;
  for (const key of [step, ...path]) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}
