import { FEATURES, ref, WhoAmI } from '@millrace/contract';
import type { FastifyInstance } from 'fastify';
import type { Reader } from '../access/operators.js';
import type { Principal } from '../access/principal.js';
import type { HttpContext } from '../context.js';
import { sendJson } from '../answers/reply.js';
import { ADMIN, described, errors, TENANT, WORKER } from './route-docs.js';

/** Takes every credential: what a client asks first, to find out whether its token works and what the server can do. */
export function whoAmIRoutes(app: FastifyInstance, context: HttpContext): void {
  app.get('/whoami', { schema: whoAmISchema }, async ({ principal, reader }, reply) =>
    sendJson(reply, 200, JSON.stringify(await whoAmI(principal!, reader, context))),
  );
}

async function whoAmI(
  principal: Principal,
  reader: Reader | null,
  { engine, dev, version, ...context }: HttpContext,
): Promise<WhoAmI> {
  const expiresAt = principal.kind === 'tenant' ? principal.expiresAt : null;
  return {
    kind: principal.kind,
    tenant_id: 'tenant' in principal ? principal.tenant : null,
    read_only: principal.kind === 'tenant' && principal.readOnly,
    ...(expiresAt !== null && { expires_at: instantOf(expiresAt) }),
    ...(reader !== null && { read_by: reader.operator }),
    dev,
    version,
    default_queue: context.defaultQueue,
    retention_hours: context.retentionHours,
    now: await engine.system.now(),
    trace_url: context.traceUrl,
    features: [...FEATURES],
  };
}

/** The last millisecond that RFC 3339 can write; a token may well name a later one. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

const instantOf = (ms: number): string => new Date(Math.min(ms, LAST_MS)).toISOString();

const whoAmISchema = {
  operationId: 'whoAmI',
  summary: 'Who the caller is',
  description:
    'Takes every kind of credential. Says what it is, whose jobs it reaches, when it expires, and what the server ' +
    'can do beyond the plain protocol.',
  tags: ['system'],
  security: [...TENANT, ...WORKER, ...ADMIN],
  docs: { response: { 200: described(ref(WhoAmI), 'The caller and the server.'), ...errors(400, 401, 503) } },
};
