/**
 * A validator for the schemas of the API description. It is deliberately not the one that the server uses, or they
 * would share their mistakes. It knows the keywords that the description uses and throws on any other, so that nothing
 * goes unchecked unnoticed.
 */
export type Schema = Readonly<Record<string, unknown>>;

const ANNOTATIONS = new Set(['description', 'title', 'default', 'examples', 'headers', '$id']);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const LONE_SURROGATE = /\p{Surrogate}/u;
const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

type Check = (limit: unknown, value: unknown, at: string) => string[];

export class SchemaChecker {
  readonly #named: Readonly<Record<string, Schema>>;

  constructor(named: Readonly<Record<string, Schema>>) {
    this.#named = named;
  }

  /** What is wrong with `value`, one sentence per problem. */
  problems(schema: Schema, value: unknown, at = '$'): string[] {
    return Object.entries(schema).flatMap(([keyword, limit]) => {
      if (ANNOTATIONS.has(keyword)) return [];
      const check = this.#checks[keyword];
      if (check === undefined) throw new Error(`the fuzzer does not know the schema keyword ${keyword}`);
      return check(limit, value, at);
    });
  }

  resolve(reference: string): Schema {
    const name = reference.replace('#/components/schemas/', '');
    const schema = this.#named[name];
    if (schema === undefined) throw new Error(`the API description refers to ${reference}, which it does not define`);
    return schema;
  }

  readonly #checks: Readonly<Record<string, Check | undefined>> = {
    $ref: (limit, value, at) => this.problems(this.resolve(limit as string), value, at),
    anyOf: (limit, value, at) => {
      const found = (limit as Schema[]).map((schema) => this.problems(schema, value, at));
      return found.some((problems) => problems.length === 0) ? [] : (found[0] ?? []);
    },
    allOf: (limit, value, at) => (limit as Schema[]).flatMap((schema) => this.problems(schema, value, at)),
    // Only ever true, in this description: the content is the caller's.
    additionalProperties: (limit, _value, at) => (limit === true ? [] : [`${at} has an unknown additionalProperties`]),
    type: (limit, value, at) => {
      const types = [limit].flat() as string[];
      return types.some((type) => isOfType(type, value)) ? [] : [`${at} is not ${types.join(' or ')}`];
    },
    enum: (limit, value, at) =>
      (limit as unknown[]).includes(value) ? [] : [`${at} is not one of the allowed values`],
    const: (limit, value, at) => (limit === value ? [] : [`${at} is not ${JSON.stringify(limit)}`]),
    required: (limit, value, at) =>
      isRecord(value)
        ? (limit as string[]).filter((key) => !Object.hasOwn(value, key)).map((key) => `${at}.${key} is missing`)
        : [],
    properties: (limit, value, at) =>
      isRecord(value)
        ? Object.entries(limit as Record<string, Schema>).flatMap(([key, inner]) =>
            Object.hasOwn(value, key) ? this.problems(inner, value[key], `${at}.${key}`) : [],
          )
        : [],
    items: (limit, value, at) =>
      Array.isArray(value) ? value.flatMap((item, i) => this.problems(limit as Schema, item, `${at}[${i}]`)) : [],
    minItems: (limit, value, at) =>
      Array.isArray(value) && value.length < Number(limit) ? [`${at} is too short`] : [],
    maxItems: (limit, value, at) => (Array.isArray(value) && value.length > Number(limit) ? [`${at} is too long`] : []),
    minimum: (limit, value, at) => (typeof value === 'number' && value < Number(limit) ? [`${at} is too small`] : []),
    maximum: (limit, value, at) => (typeof value === 'number' && value > Number(limit) ? [`${at} is too large`] : []),
    minLength: (limit, value, at) =>
      typeof value === 'string' && [...value].length < Number(limit) ? [`${at} is too short`] : [],
    maxLength: (limit, value, at) =>
      typeof value === 'string' && [...value].length > Number(limit) ? [`${at} is too long`] : [],
    pattern: (limit, value, at) =>
      typeof value === 'string' && !new RegExp(String(limit), 'u').test(value) ? [`${at} does not match`] : [],
    format: (limit, value, at) =>
      typeof value === 'string' && !hasFormat(String(limit), value) ? [`${at} is not a valid ${String(limit)}`] : [],
  };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function hasFormat(format: string, value: string): boolean {
  switch (format) {
    case 'uuid':
      return UUID.test(value);
    case 'date-time':
      return DATE_TIME.test(value);
    case 'text':
      return !value.includes('\0') && !LONE_SURROGATE.test(value);
    default:
      throw new Error(`the fuzzer does not know the format ${format}`);
  }
}
