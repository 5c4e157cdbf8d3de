/**
 * JSON that JavaScript cannot represent, inserted into a document as text: a number with thirty digits, an object with
 * the same key twice, ten thousand brackets.
 */
export class RawText {
  constructor(readonly text: string) {}
}

export type Json = null | boolean | number | string | RawText | readonly Json[] | { readonly [key: string]: Json };

export type JsonObject = Readonly<Record<string, Json>>;

export type Path = readonly (string | number)[];

export function print(value: Json): string {
  if (value instanceof RawText) return value.text;
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(print).join(',')}]`;
  if (isObject(value)) return `{${membersOf(value).join(',')}}`;
  return JSON.stringify(value);
}

/** The members of an object, each as `"key":value`. */
export const membersOf = (value: JsonObject): string[] =>
  Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}:${print(member)}`);

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RawText);

/** The path of every value in a document, starting with the document itself. */
export function pathsOf(value: Json, at: Path = []): Path[] {
  if (Array.isArray(value)) return [at, ...(value as readonly Json[]).flatMap((item, i) => pathsOf(item, [...at, i]))];
  if (isObject(value)) return [at, ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...at, key]))];
  return [at];
}

export function valueAt(value: Json, path: Path): Json | undefined {
  return path.reduce<Json | undefined>(
    (inner, key) => (inner as Record<string | number, Json> | undefined)?.[key],
    value,
  );
}

/** A copy with another value at `path`, or without that value if `by` is undefined. */
export function replaced(value: Json, [key, ...rest]: Path, by: Json | undefined): Json {
  if (key === undefined) return by ?? null;
  const inner = (value as Record<string | number, Json>)[key] as Json;
  const next = rest.length === 0 ? by : replaced(inner, rest, by);
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return items.flatMap((item, i) => (i !== key ? [item] : next === undefined ? [] : [next]));
  }
  const entries = Object.entries(value as JsonObject).filter(([name]) => name !== key);
  return Object.fromEntries(next === undefined ? entries : [...entries, [key, next]]);
}
