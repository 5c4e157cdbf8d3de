import { openApiDocument } from '../../../src/http/openapi.js';

export type Schema = Readonly<Record<string, unknown>>;

export interface Media {
  readonly schema: Schema;
}
export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly description?: string }>>;
  readonly content?: Readonly<Record<string, Media>>;
}
export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly responses: Readonly<Record<string, Response>>;
}
export interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, { readonly description: string; readonly schema: Schema }>>;
    readonly securitySchemes: object;
  };
}

export const document = (await openApiDocument()) as Document;

export const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

/** Every schema of the document with the place where it is: those of the paths, then the components. */
export function allSchemas(): (readonly [at: string, schema: Schema])[] {
  const ofOperations = operations.flatMap(({ operation: { operationId, parameters = [], requestBody, responses } }) => [
    ...parameters.map(({ name, schema }) => [`${operationId} ${name}`, schema] as const),
    ...ofContent(`${operationId} body`, requestBody?.content),
    ...Object.entries(responses).flatMap(([status, { content }]) => ofContent(`${operationId} ${status}`, content)),
  ]);
  const roots = [...ofOperations, ...Object.entries(document.components.schemas)];
  return roots.flatMap(([at, schema]) => [...within(at, schema)]);
}

const ofContent = (at: string, content: Readonly<Record<string, Media>> = {}): (readonly [string, Schema])[] =>
  Object.values(content).map(({ schema }) => [at, schema] as const);

function* within(at: string, schema: Schema): Generator<readonly [string, Schema]> {
  yield [at, schema];
  for (const [name, inner] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
    yield* within(`${at}.${name}`, inner);
  }
  for (const keyword of ['items', 'contentSchema'] as const) {
    if (schema[keyword] !== undefined) yield* within(`${at}.${keyword}`, schema[keyword] as Schema);
  }
  for (const keyword of ['anyOf', 'oneOf', 'allOf'] as const) {
    for (const [i, inner] of ((schema[keyword] ?? []) as Schema[]).entries()) {
      yield* within(`${at}.${keyword}[${i}]`, inner);
    }
  }
}
