import { Type, type Static, type TOptional, type TSchema, type TUnsafe } from 'typebox';

/**
 * Building blocks the schemas share. They stay plain JSON Schema (OpenAPI 3.1 speaks the same dialect), so the
 * validator, the API description and the types all read one object.
 */

/** A value that may also be null. Written as a list of types, which validators report more shortly than `anyOf`. */
export function nullable<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, enum: allowed } = schema as { type?: unknown; enum?: readonly unknown[] };
  if (typeof type !== 'string') throw new TypeError('nullable() needs a schema with one type');
  return Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [type, 'null'],
    ...(allowed === undefined ? {} : { enum: [...allowed, null] }),
  });
}

/** A request field that may be left out; null means the same as leaving it out. */
export const optional = <T extends TSchema>(schema: T): TOptional<TUnsafe<Static<T> | null>> =>
  Type.Optional(nullable(schema));

/** One of a fixed list of words. */
export const oneOf = <const T extends readonly string[]>(values: T, options: object = {}): TUnsafe<T[number]> =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** Names a schema that the API description lists once under its components. */
export const ref = <T extends TSchema>(schema: T): TUnsafe<Static<T>> => {
  const { $id } = schema as { $id?: string };
  if ($id === undefined) throw new TypeError('ref() needs a schema with an $id');
  return Type.Unsafe<Static<T>>({ $ref: `${$id}#` });
};

/** JSON that belongs to the caller: stored and returned as the text that was sent. */
export const callerObject = (options: object = {}): TUnsafe<Record<string, unknown>> =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', ...options });

export const NAME_LENGTH = 255;

/**
 * Text that names something. The format `text` excludes what PostgreSQL cannot store (NUL) and what UTF-8 cannot
 * encode (lone surrogates); lengths count characters, not UTF-16 units.
 */
export const nameText = (options: object = {}): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'text', pattern: '\\S', maxLength: NAME_LENGTH, ...options });

/** An instant in an answer: RFC 3339, UTC, microseconds. */
export const instant = (options: object = {}): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'date-time', ...options });

export const uuid = (options: object = {}): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'uuid', ...options });
