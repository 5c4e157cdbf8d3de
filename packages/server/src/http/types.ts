import type { TSchema } from 'typebox';
import type { Admitted, Load } from './access/load.js';
import type { Part } from '../domain/json-outline.js';
import type { Reader } from './access/operators.js';
import type { Principal } from './access/principal.js';
import type { ActiveSpan } from '../telemetry/tracing.js';
import type { KnownPath } from './requests/known-paths.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's tenant, once the tenant hook has let the request through. */
    tenant: string;
    /** The caller, on routes that take every credential; elsewhere null. */
    principal: Principal | null;
    /** An operator who reads as the tenant; null: the caller is the tenant, or somebody else. */
    reader: Reader | null;
    /** Its place in a trace, if it belongs to one and there is a collector. */
    span: ActiveSpan | null;
    /** The body as it was sent; empty when there was none. */
    rawBody: string;
    /** What it takes up until its handler begins; null on routes that take everybody (see admission.ts). */
    admitted: Admitted | null;
    /** Parts of the request that have no effect; null if there are none (see warnings.ts). */
    warnings: readonly string[] | null;
    /** Where no route takes the request: what the path has under other methods, if it exists. */
    knownPath: KnownPath | null;
  }

  interface FastifyContextConfig {
    /** What the route reads of its body. */
    takes?: Part;
    /** How the route is treated under overload; `new` by default. */
    load?: Load;
    /** Which requests of the route wait, where only some do. */
    waits?: (request: FastifyRequest) => boolean;
    /** Whether the route only reads although its method is not GET: read-only credentials may call it. */
    reads?: boolean;
  }

  interface FastifySchema {
    /**
     * What the API description says but the framework must not act on: query strings are text and are read by separate
     * rules (requests/list-parameters.ts), and answers are written as text without a serialiser.
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
