import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import type { AdminApi, AuditStamp } from '../../engine/api.js';
import { headerText } from './header-text.js';
import type { Principal } from './principal.js';
import { isTenantName } from './tenant-name.js';

/** Whoever has no name of their own: the token of a flag, a token without a name in the file, a developer. */
const NAMELESS = 'admin';

const operatorName = (principal: Principal | null): string =>
  (principal?.kind === 'admin' ? principal.name : null) ?? NAMELESS;

const stamp = (operator: string, requestId: string): AuditStamp => ({
  id: randomUUID(),
  operator,
  requestId,
  at: null,
});

/** What the caller of an operator's route is about to do. */
export const auditStampOf = ({ principal, id }: FastifyRequest): AuditStamp => stamp(operatorName(principal), id);

/** An operator who looks at what a tenant sees. */
export interface Reader {
  readonly tenant: string;
  readonly operator: string;
}

const HEADER = 'Millrace-Tenant';

/** The tenant that a request names beside its credential; null: none. */
export function namedTenant({ headers }: FastifyRequest): string | null {
  const given = headers['millrace-tenant'];
  if (given === undefined) return null;
  const tenant = headerText(HEADER, String(given));
  if (!isTenantName(tenant)) throw invalidField(HEADER, 'must be the name of a tenant');
  return tenant;
}

/** Where every token is accepted, every token is an operator's too. Null: the caller reads as nobody else. */
export function readerOf(principal: Principal, request: FastifyRequest): Reader | null {
  if (principal.kind !== 'admin' && principal.kind !== 'developer') return null;
  const tenant = namedTenant(request);
  return tenant === null ? null : { tenant, operator: operatorName(principal) };
}

/** Says in the log, and records once an hour, who reads as which tenant. Before anything is read. */
export async function noteRead(request: FastifyRequest, { tenant, operator }: Reader, admin: AdminApi): Promise<void> {
  const { id, method, url } = request;
  // Without the query: it may hold what a tenant would not want to see in a log.
  const [path] = url.split('?', 1);
  request.log.info({ reqId: id, method, path, tenant, operator }, 'an operator reads as a tenant');
  await admin.noteRead(tenant, stamp(operator, id));
}
