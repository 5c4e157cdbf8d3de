import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { forbidden, MillraceError } from '../../domain/errors.js';
import type { AuthFailure } from '../../telemetry/metrics.js';
import { tokenOfHeader, type Credentials } from './credentials.js';
import { namedTenant, readerOf, type Reader } from './operators.js';
import type { Principal, TenantPrincipal } from './principal.js';

type Hook = (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => void;

/** A route's decision about an identified caller: null lets it through. */
type Judgement = (principal: Principal, request: FastifyRequest) => Refusal | null;

interface Refusal {
  readonly kind: AuthFailure;
  readonly error: MillraceError;
}

export interface AuthHooks {
  readonly tenant: Hook;
  readonly worker: Hook;
  readonly admin: Hook;
  readonly anybody: Hook;
}

/**
 * The hooks run before the body is read: a request with a bad token and a bad body is told only about the token, and
 * nobody can make the server parse anything without a credential.
 */
export function authHooks(
  credentials: Credentials,
  onFailure: (kind: AuthFailure) => void,
  note: (request: FastifyRequest, reader: Reader) => Promise<void>,
): AuthHooks {
  const hook = (judge: Judgement): Hook => {
    const decide = (principal: Principal | null, request: FastifyRequest, done: HookHandlerDoneFunction): void => {
      const refusal = principal === null ? INVALID : judged(judge, principal, request);
      if (refusal instanceof MillraceError) return done(refusal);
      if (refusal === null) {
        const { reader } = request;
        return reader === null || request.is404 ? done() : void note(request, reader).then(() => done(), done);
      }
      onFailure(refusal.kind);
      done(refusal.error);
    };
    return (request, _reply, done) => {
      const token = tokenOfHeader(request.headers.authorization);
      if (token === null) {
        onFailure(MISSING.kind);
        return done(MISSING.error);
      }
      const principal = credentials.identify(token);
      if (!(principal instanceof Promise)) return decide(principal, request, done);
      principal.then((known) => decide(known, request, done), done);
    };
  };
  return { tenant: hook(tenantOnly), worker: hook(workerOnly), admin: hook(adminOnly), anybody: hook(anyCredential) };
}

/** A header that makes no sense is the caller's mistake, whoever that is. */
function judged(judge: Judgement, principal: Principal, request: FastifyRequest): Refusal | MillraceError | null {
  try {
    return judge(principal, request);
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
}

/**
 * The tokens of workers and operators name no tenant, so on a tenant route they are not valid: 401, not 403. An
 * operator may name one, and read.
 */
const tenantOnly: Judgement = (principal, request) => {
  if (principal.kind === 'worker') return WORKER_ON_TENANT_ROUTE;
  const reader = readerOf(principal, request);
  if (reader !== null) {
    if (!isRead(request)) return READER;
    request.tenant = reader.tenant;
    request.reader = reader;
    return null;
  }
  if (principal.kind === 'admin') return ADMIN_ELSEWHERE;
  if (principal.kind === 'tenant') {
    if (namesAnother(principal, request)) return OTHER_TENANT;
    if (principal.readOnly && !isRead(request)) return READ_ONLY;
  }
  request.tenant = principal.tenant;
  return null;
};

/** Whoever means to read as another tenant must not take their own data for it. */
const namesAnother = ({ tenant }: TenantPrincipal, request: FastifyRequest): boolean =>
  (namedTenant(request) ?? tenant) !== tenant;

/** Every route that writes is one of another method; the few others that only read say so. */
const isRead = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'GET' || method === 'HEAD' || routeOptions.config.reads === true;

const workerOnly: Judgement = (principal, request) => {
  if (readerOf(principal, request) !== null) return READER;
  if (principal.kind === 'admin') return ADMIN_ELSEWHERE;
  request.principal = principal;
  return principal.kind === 'tenant' ? TENANT_ON_WORKER_ROUTE : null;
};

/** Where every token is accepted, every token is an operator's too. */
const adminOnly: Judgement = (principal, request) => {
  request.principal = principal;
  return principal.kind === 'admin' || principal.kind === 'developer' ? null : OTHER_ON_ADMIN_ROUTE;
};

const anyCredential: Judgement = (principal, request) => {
  request.reader = readerOf(principal, request);
  const { reader } = request;
  request.principal =
    reader === null ? principal : { kind: 'tenant', tenant: reader.tenant, readOnly: true, expiresAt: null };
  return principal.kind === 'tenant' && namesAnother(principal, request) ? OTHER_TENANT : null;
};

const unauthorized = (message: string): MillraceError => new MillraceError('unauthorized', message);

export const adminElsewhere = (): MillraceError =>
  unauthorized('the admin token is valid only under /admin, and with Millrace-Tenant for reading as a tenant');

const MISSING: Refusal = {
  kind: 'missing',
  error: unauthorized('a bearer token is required'),
};
const INVALID: Refusal = {
  kind: 'invalid',
  error: unauthorized('the bearer token is not valid'),
};
const WORKER_ON_TENANT_ROUTE: Refusal = {
  kind: 'worker_on_tenant_route',
  error: unauthorized('the worker token is not valid on this route; use a tenant token'),
};
const TENANT_ON_WORKER_ROUTE: Refusal = {
  kind: 'tenant_on_worker_route',
  error: forbidden('this route takes the worker token'),
};
const ADMIN_ELSEWHERE: Refusal = {
  kind: 'admin_elsewhere',
  error: adminElsewhere(),
};
const OTHER_ON_ADMIN_ROUTE: Refusal = {
  kind: 'other_on_admin_route',
  error: forbidden('this route takes the admin token'),
};
const READER: Refusal = {
  kind: 'read_only',
  error: forbidden('an operator who reads as a tenant may only read'),
};
const OTHER_TENANT: Refusal = {
  kind: 'other_on_admin_route',
  error: forbidden('only the admin token may name another tenant in Millrace-Tenant'),
};
const READ_ONLY: Refusal = {
  kind: 'read_only',
  error: forbidden('this credential may only read'),
};
