import { Type, type Static, type TInteger, type TOptional, type TSchema, type TUnsafe } from 'typebox';

/**
 * Building blocks that the schemas share. They are plain JSON Schema (OpenAPI 3.1 uses the same dialect), so that the
 * validator, the API description and the types all come from one object.
 */

/** The longest name in characters, whatever it names: a task, queue, schedule, step, tenant or idempotency key. */
export const NAME_MAX_LENGTH = 255;

/** How large a payload, result, metadata or context, and a whole request, may be unless the server says otherwise. */
export const DEFAULT_MAX_PAYLOAD_BYTES = 4_194_304;
export const DEFAULT_MAX_BODY_BYTES = 16_777_216;

/**
 * How deep objects and arrays may be nested in a request. Nothing sensible nests that deep, and somewhat deeper
 * PostgreSQL's recursive parser would run out of stack and fail the whole statement.
 */
export const JSON_MAX_DEPTH = 1000;

/** A value that may also be null. Written as a list of types, because validators report `anyOf` at length. */
export function nullable<T extends TSchema>(schema: T): TUnsafe<Static<T> | null> {
  const { type, enum: allowed } = schema as { type?: unknown; enum?: readonly unknown[] };
  if (typeof type !== 'string') throw new TypeError('nullable() needs a schema with one type');
  return Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [type, 'null'],
    ...(allowed === undefined ? {} : { enum: [...allowed, null] }),
  });
}

/** A request field that may be omitted; null means the same as omitting it. */
export const optional = <T extends TSchema>(schema: T): TOptional<TUnsafe<Static<T> | null>> =>
  Type.Optional(nullable(schema));

/** One of a fixed list of words. */
export const oneOf = <const T extends readonly string[]>(values: T, options: object = {}): TUnsafe<T[number]> =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** Refers to a schema that the API description lists once, under its components. */
export const ref = <T extends TSchema>(schema: T): TUnsafe<Static<T>> => {
  const { $id } = schema as { $id?: string };
  if ($id === undefined) throw new TypeError('ref() needs a schema with an $id');
  return Type.Unsafe<Static<T>>({ $ref: `${$id}#` });
};

/** JSON that belongs to the caller: stored and returned exactly as sent. */
export const callerObject = (options: object = {}): TUnsafe<Record<string, unknown>> =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options });

/**
 * Text of at most NAME_MAX_LENGTH characters. The format `text` excludes what PostgreSQL cannot store (NUL) and what
 * UTF-8 cannot encode (lone surrogates); lengths count characters, not UTF-16 units.
 */
const boundedText = (options: object): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'text', maxLength: NAME_MAX_LENGTH, ...options });

/** Text that names something: anything but blank. */
export const nameText = (options: object = {}): TUnsafe<string> => boundedText({ pattern: '\\S', ...options });

/** Text that may be blank but not empty: the name of a queue, a crontab expression. */
export const filledText = (options: object = {}): TUnsafe<string> => boundedText({ minLength: 1, ...options });

/** An instant: RFC 3339. Requests may use any offset and precision; answers are in UTC, to the microsecond. */
export const instant = (options: object = {}): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'date-time', ...options });

/** The id of a dead letter: a whole number of up to 64 bits. */
export const int64 = (options: object = {}): TInteger => Type.Integer({ format: 'int64', minimum: 1, ...options });

export const uuid = (options: object = {}): TUnsafe<string> =>
  Type.Unsafe<string>({ type: 'string', format: 'uuid', ...options });
