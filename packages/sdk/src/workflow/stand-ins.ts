import { isObject, type JsonObject } from '../json/object.js';
import { REFERENCE_FIELD, type Reference } from './references.js';

/** What each stand-in refers to. */
const targets = new WeakMap<object, Reference>();

/**
 * A stand-in for the result of a step: its fields are stand-ins too, and everything else is refused, since the result
 * does not exist yet.
 */
function standIn(step: string, path: readonly string[]): object {
  const proxy: object = new Proxy(Object.create(null) as object, {
    get(_target, key) {
      if (typeof key === 'string') return standIn(step, [...path, key]);
      if (key === Symbol.toPrimitive) throw new TypeError(impossible(step, path));
      return undefined;
    },
    set: () => {
      throw new TypeError(impossible(step, path));
    },
    ownKeys: () => {
      throw new TypeError(`${impossible(step, path)}; take it whole instead of spreading it`);
    },
  });
  targets.set(proxy, { [REFERENCE_FIELD]: step, ...(path.length > 0 && { path }) });
  return proxy;
}

const impossible = (step: string, path: readonly string[]): string =>
  `${['steps', step, ...path].join('.')} does not exist before the workflow runs: it can be passed on, not computed with`;

/** What the payload function of a step gets as `steps`: the steps that it may use, those of a group as a list. */
export function standIns(
  steps: readonly string[],
  groups: ReadonlyMap<string, { readonly names: readonly string[] }>,
): JsonObject {
  const single = steps.map((step) => [step, standIn(step, [])] as const);
  const lists = [...groups]
    .filter(([, { names }]) => names.every((name) => steps.includes(name)))
    .map(([group, { names }]) => [group, names.map((name) => standIn(name, []))] as const);
  return Object.fromEntries<unknown>([...single, ...lists]);
}

/** A payload with stand-ins turned into references, and whether it has any. */
export function withReferences(payload: unknown, step: string): { payload: JsonObject; wired: boolean } {
  let wired = false;
  const convert = (value: unknown): unknown => {
    const target = typeof value === 'object' && value !== null ? targets.get(value) : undefined;
    if (target !== undefined) {
      wired = true;
      return target;
    }
    if (Array.isArray(value)) return value.map(convert);
    if (!isPlain(value)) return value;
    if (Object.hasOwn(value, REFERENCE_FIELD)) {
      throw new TypeError(
        `the payload of the step ${step} has a field ${REFERENCE_FIELD}, which workers would resolve`,
      );
    }
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, convert(item)]));
  };
  const converted = convert(payload);
  if (!isObject(converted)) throw new TypeError(`the payload of the step ${step} is not an object`);
  return { payload: converted, wired };
}

/** Leaves what JSON converts by itself (a Date, anything with toJSON) to JSON. */
function isPlain(value: unknown): value is JsonObject {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
