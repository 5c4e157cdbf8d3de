import type { Schema } from './schema.js';

/** What the fuzzer reads of an OpenAPI document. */
export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface RawOperation {
  readonly operationId: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, Response>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly schema: Schema;
}

export interface Response {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

/** `anybody`: every credential is accepted, but none is not. */
export type Access = 'public' | 'anybody' | 'tenant' | 'worker' | 'admin';

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly access: Access;
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  readonly responses: Readonly<Record<string, Response>>;
}

export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => ({
      id: raw.operationId,
      method: method.toUpperCase(),
      path,
      access: accessOf(raw),
      parameters: raw.parameters ?? [],
      body: raw.requestBody?.content['application/json']?.schema ?? null,
      responses: raw.responses,
    })),
  );
}

function accessOf({ security = [] }: RawOperation): Access {
  const schemes = security.flatMap((requirement) => Object.keys(requirement));
  if (schemes.length > 1) return 'anybody';
  if (schemes.includes('workerToken')) return 'worker';
  if (schemes.includes('adminToken')) return 'admin';
  return schemes.includes('tenantToken') ? 'tenant' : 'public';
}
