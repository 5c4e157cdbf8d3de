import * as contract from '@millrace/contract';
import { ENUMERATIONS, TIMEOUT_ALIAS } from '@millrace/contract';

/**
 * How schemas are written in the API description. The contract writes them for the validator, which is quick on lists
 * of types and inline shapes; generators make better clients of references and unions.
 */

export type OpenApiSchema = Readonly<Record<string, unknown>>;
export type OpenApiSchemas = Readonly<Record<string, OpenApiSchema>>;

const SCHEMAS_PATH = '#/components/schemas/';
const NULL: OpenApiSchema = { type: 'null' };
/** What a place says about a shape, beyond which shape it is. */
const ANNOTATIONS = ['description', 'examples'] as const;

/** Without what the schema library keeps beside the schemas. */
const plain = (schemas: object): OpenApiSchemas => JSON.parse(JSON.stringify(schemas)) as OpenApiSchemas;

const wordsOf = (schema: OpenApiSchema): string =>
  Array.isArray(schema.enum) ? schema.enum.filter((word) => word !== null).join('\n') : '';

const NAME_BY_WORDS = new Map(Object.entries(plain(ENUMERATIONS)).map(([name, schema]) => [wordsOf(schema), name]));

/** Every named schema that the paths need, in the order of their names, each rewritten. */
export function rewriteComponents(collected: OpenApiSchemas, usedByPaths: unknown): OpenApiSchemas {
  // Shapes that the contract writes out wherever they are used; here they are named by their title.
  const inline: OpenApiSchemas = Object.fromEntries(
    titledIn(plain(contract)).map((schema) => [String(schema.title), schema] as const),
  );
  const all: OpenApiSchemas = { ...collected, ...inline, ...plain(ENUMERATIONS) };
  const rewritten = Object.fromEntries(
    Object.entries(all).map(([name, schema]) => [name, rewriteMembers(withoutAlias(schema))]),
  );
  const used = new Set<string>();
  collectReferences(usedByPaths, rewritten, used);
  return Object.fromEntries([...used].sort().map((name) => [name, known(rewritten, name)]));
}

function known(schemas: OpenApiSchemas, name: string): OpenApiSchema {
  const schema = schemas[name];
  if (schema === undefined) throw new Error(`the description refers to ${name}, which it does not describe`);
  return schema;
}

/** Every schema in there that has a title, as what it is where it is not null. */
function titledIn(value: unknown): OpenApiSchema[] {
  if (Array.isArray(value)) return value.flatMap(titledIn);
  if (!isRecord(value)) return [];
  const inner = Object.values(value).flatMap(titledIn);
  const isSchema = typeof value.title === 'string' && 'type' in value;
  if (!isSchema) return inner;
  return [...inner, Array.isArray(value.type) ? { ...value, ...withoutNull(value) } : value];
}

/** A schema as it appears in a place: a reference where it has a name, and a union where it may be null. */
export function rewriteSchema(schema: OpenApiSchema): OpenApiSchema {
  // As the contract writes it; in what the framework has collected it is a path already.
  if (typeof schema.$ref === 'string' && schema.$ref.endsWith('#'))
    return { ...schema, $ref: SCHEMAS_PATH + schema.$ref.slice(0, -1) };
  const inner = rewriteMembers(schema);
  const name = nameOf(inner);
  const isNullable = Array.isArray(inner.type) && inner.type.includes('null');
  if (name !== undefined) {
    const reference: OpenApiSchema = { $ref: SCHEMAS_PATH + name };
    return isNullable ? orNull(reference, inner) : { ...reference, ...annotations(inner), ...fallback(inner) };
  }
  if (!isNullable || !('enum' in inner || 'default' in inner)) return inner;
  return orNull(withoutNull(inner), inner);
}

function nameOf(schema: OpenApiSchema): string | undefined {
  const { title } = schema;
  return typeof title === 'string' ? title : NAME_BY_WORDS.get(wordsOf(schema));
}

/** The default stands beside the type that it is of. Beside the union, generators would take the field for required. */
const orNull = (schema: OpenApiSchema, place: OpenApiSchema): OpenApiSchema => ({
  anyOf: [{ ...schema, ...fallback(place) }, NULL],
  ...annotations(place),
});

const annotations = (schema: OpenApiSchema): OpenApiSchema =>
  Object.fromEntries(ANNOTATIONS.filter((key) => key in schema).map((key) => [key, schema[key]]));

const fallback = (schema: OpenApiSchema): OpenApiSchema => ('default' in schema ? { default: schema.default } : {});

function withoutNull(schema: OpenApiSchema): OpenApiSchema {
  const { description: _description, examples: _examples, ...rest } = schema;
  const [type] = (rest.type as string[]).filter((each) => each !== 'null');
  const words = Array.isArray(rest.enum) ? { enum: rest.enum.filter((word) => word !== null) } : {};
  return { ...rest, type, ...words };
}

/** The same schema with everything in it rewritten, but not itself. */
function rewriteMembers(schema: OpenApiSchema): OpenApiSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      switch (keyword) {
        case 'properties':
          return [keyword, mapSchemas(value as OpenApiSchemas, rewriteSchema)];
        case 'items':
        case 'contentSchema':
          return [keyword, rewriteSchema(value as OpenApiSchema)];
        case 'anyOf':
        case 'oneOf':
        case 'allOf':
          return [keyword, (value as OpenApiSchema[]).map(rewriteSchema)];
        default:
          return [keyword, value];
      }
    }),
  );
}

export const mapSchemas = (schemas: OpenApiSchemas, map: (schema: OpenApiSchema) => OpenApiSchema): OpenApiSchemas =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, map(schema)]));

/** Components have their name already, and tell of a second spelling in their description. */
function withoutAlias(schema: OpenApiSchema): OpenApiSchema {
  const { title: _title, ...rest } = schema;
  if (!isRecord(rest.properties) || !(TIMEOUT_ALIAS in rest.properties)) return rest;
  const { [TIMEOUT_ALIAS]: _alias, ...properties } = rest.properties;
  return { ...rest, properties };
}

function collectReferences(value: unknown, schemas: OpenApiSchemas, used: Set<string>): void {
  if (Array.isArray(value)) return value.forEach((item) => collectReferences(item, schemas, used));
  if (!isRecord(value)) return;
  const { $ref } = value;
  if (typeof $ref === 'string' && $ref.startsWith(SCHEMAS_PATH)) {
    const name = $ref.slice(SCHEMAS_PATH.length);
    if (used.has(name)) return;
    used.add(name);
    collectReferences(schemas[name], schemas, used);
  }
  for (const inner of Object.values(value)) collectReferences(inner, schemas, used);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
