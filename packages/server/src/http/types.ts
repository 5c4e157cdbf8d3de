import type { TSchema } from 'typebox';
import type { KnownPath } from './requests/known-paths.js';

/**
 * What becomes of a request under overload (see admission.ts). new: shed first. vital: shed last. waiting: let in like
 * new work, but then it waits for something to happen and holds nothing.
 */
export type Load = 'new' | 'vital' | 'waiting';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's tenant, once the tenant hook let the request through. */
    tenant: string;
    /** The body as it was sent; empty when there was none. */
    rawBody: string;
    /** The units it holds until its handler begins (see admission.ts). */
    admitted: number;
    /** What of the request has no effect; null where there is nothing to say (see warnings.ts). */
    warnings: readonly string[] | null;
    /** Where no route takes the request: what the path has under other methods, if it exists. */
    knownPath: KnownPath | null;
  }

  interface FastifyContextConfig {
    /** What becomes of the route under overload; `new` where nothing is said. */
    load?: Load;
  }

  interface FastifySchema {
    /**
     * What the API description tells and the framework must not act upon: query strings are text and are read by
     * rules of their own, and answers are written as text without a serialiser.
     */
    docs?: RouteDocs;
  }
}

export interface RouteDocs {
  readonly params?: TSchema;
  readonly querystring?: TSchema;
  readonly headers?: TSchema;
  readonly response: Readonly<Record<number, object>>;
}
