import { createHmac } from 'node:crypto';
import type { Random } from '@millrace/tools-shared';
import { withExtraHeader, withHeader, withoutHeader, type Draft } from '../draft.js';
import { caseOf, draftOf, tokenOf, type World } from '../valid.js';
import type { Mutation, Mutations } from './types.js';

/** Credentials that are almost right. None of them may be accepted. */

const FAR_FUTURE = 4_102_444_800;

const base64 = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function jwt(secret: string, header: object, claims: unknown, hash = 'sha256'): string {
  const signed = `${base64(header)}.${base64(claims)}`;
  return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
}

/** A token that the server accepts for one of the tenants. */
export const validJwt = (secret: string, tenant: string): string =>
  jwt(secret, { alg: 'HS256', typ: 'JWT' }, { sub: tenant, exp: FAR_FUTURE });

type Forgery = (secret: string, tenant: string, random: Random) => string;

const HS256 = { alg: 'HS256' };

const FORGERIES: readonly Forgery[] = [
  (_secret, tenant) => `${base64({ alg: 'none' })}.${base64({ sub: tenant, exp: FAR_FUTURE })}.`,
  (_secret, tenant) => `${base64({ alg: 'nOnE' })}.${base64({ sub: tenant, exp: FAR_FUTURE })}.x`,
  (secret, tenant) => jwt(secret, { alg: 'HS384' }, { sub: tenant, exp: FAR_FUTURE }, 'sha384'),
  (secret, tenant) => jwt(secret, { alg: 'HS512' }, { sub: tenant, exp: FAR_FUTURE }, 'sha512'),
  (secret, tenant) => jwt(secret, { alg: 'RS256' }, { sub: tenant, exp: FAR_FUTURE }),
  (secret, tenant) => jwt(secret, { alg: ['HS256'] }, { sub: tenant, exp: FAR_FUTURE }),
  (secret, tenant) => jwt(secret, {}, { sub: tenant, exp: FAR_FUTURE }),
  (secret, tenant) => jwt(secret, { ...HS256, crit: ['exp'] }, { sub: tenant, exp: FAR_FUTURE }),
  (secret, tenant) => jwt(secret, { ...HS256, b64: false, crit: ['b64'] }, { sub: tenant, exp: FAR_FUTURE }),
  (secret, tenant) => jwt(secret, HS256, { sub: tenant }),
  (secret, tenant) => jwt(secret, HS256, { sub: tenant, exp: 1 }),
  (secret, tenant) => jwt(secret, HS256, { sub: tenant, exp: String(FAR_FUTURE) }),
  (secret, tenant) => jwt(secret, HS256, `{"sub":"${tenant}","exp":-1e400}`),
  (secret, tenant) => jwt(secret, HS256, { sub: tenant, exp: null }),
  (secret, tenant) => jwt(secret, HS256, { sub: tenant, exp: FAR_FUTURE, nbf: FAR_FUTURE }),
  (secret) => jwt(secret, HS256, { exp: FAR_FUTURE }),
  (secret, tenant) => jwt(secret, HS256, { sub: [tenant], exp: FAR_FUTURE }),
  (secret) => jwt(secret, HS256, { sub: '', exp: FAR_FUTURE }),
  (secret) => jwt(secret, HS256, { sub: 7, exp: FAR_FUTURE }),
  (secret) => jwt(secret, HS256, { sub: 'x'.repeat(256), exp: FAR_FUTURE }),
  (secret) => jwt(secret, HS256, '{"sub":"a\\u0000b","exp":4102444800}'),
  (secret) => jwt(secret, HS256, '{"sub":"\\ud800","exp":4102444800}'),
  (secret, tenant) => jwt(secret, HS256, [tenant]),
  (secret) => jwt(secret, HS256, 'not json'),
  (secret) => jwt(secret, HS256, '['.repeat(4000)),
  (secret, tenant) => jwt(`${secret}x`, HS256, { sub: tenant, exp: FAR_FUTURE }),
  (_secret, tenant) => jwt('', HS256, { sub: tenant, exp: FAR_FUTURE }),
  (secret, tenant) => `${validJwt(secret, tenant)}.x`,
  (secret, tenant) => validJwt(secret, tenant).split('.').slice(0, 2).join('.'),
  (secret, tenant) => `${validJwt(secret, tenant).split('.').slice(0, 2).join('.')}.`,
  (secret, tenant, random) => tampered(validJwt(secret, tenant), random),
  (secret, tenant) => {
    const [head, , signature] = validJwt(secret, tenant).split('.');
    return `${head}.${base64({ sub: 'somebody-else', exp: FAR_FUTURE })}.${signature}`;
  },
  () => '..',
  () => 'eyJ.eyJ.eyJ',
  () => 'x'.repeat(12_000),
];

/** The last character of a signature has bits that do not matter, so the change comes before it. */
function tampered(token: string, random: Random): string {
  const at = random.below(token.length - 2);
  const next = token[at] === 'A' ? 'B' : 'A';
  return token.slice(0, at) + next + token.slice(at + 1);
}

type Disguise = (draft: Draft, token: string, random: Random) => Draft;

const DISGUISES: readonly Disguise[] = [
  (draft) => withoutHeader(draft, 'authorization'),
  (draft) => withHeader(draft, 'Authorization', ''),
  (draft) => withHeader(draft, 'Authorization', 'Bearer'),
  (draft) => withHeader(draft, 'Authorization', 'Bearer  '),
  (draft, token) => withHeader(draft, 'Authorization', token),
  (draft, token) => withHeader(draft, 'Authorization', `Basic ${Buffer.from(`x:${token}`).toString('base64')}`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer${token}`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer ${token}x`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer ${token.slice(0, -1)}`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer ${token.toUpperCase()}`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer "${token}"`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer ${token}, Bearer ${token}`),
  (draft, token) => withHeader(draft, 'Authorization', `Bearer \u00e9${token}`),
  (draft, token) => withExtraHeader(withoutHeader(draft, 'authorization'), 'X-Authorization', `Bearer ${token}`),
  (draft, token) => withExtraHeader(withoutHeader(draft, 'authorization'), 'Cookie', `token=${token}`),
  (draft, token) => {
    const { target } = draft;
    return {
      ...withoutHeader(draft, 'authorization'),
      target: `${target}${target.includes('?') ? '&' : '?'}access_token=${token}`,
    };
  },
];

const refused = { caller: 'nobody', onlyStatuses: [401] } as const;

const disguised: Mutation = (blank, random, { callers }) => {
  const { access } = blank.operation;
  if (access === 'public') return null;
  const token = tokenOf(callers, blank.operation, blank.tenant);
  return caseOf(blank, 'auth.disguise', random.pick(DISGUISES)(draftOf(blank), token, random), refused);
};

/** Two of them: nobody can say which counts. */
const twice: Mutation = (blank, random, { callers }) => {
  const { access } = blank.operation;
  if (access === 'public') return null;
  const token = tokenOf(callers, blank.operation, blank.tenant);
  const draft = withHeader(draftOf(blank), 'Authorization', `Bearer ${random.pick(['wrong', token])}`);
  const doubled = withExtraHeader(draft, 'Authorization', `Bearer ${token}`);
  return caseOf(blank, 'auth.twice', doubled, { caller: 'nobody', onlyStatuses: [400] });
};

const forged: Mutation = (blank, random, { callers }) => {
  if (blank.operation.access === 'public') return null;
  const token = random.pick(FORGERIES)(callers.jwtSecret, blank.tenant.name, random);
  return caseOf(blank, 'auth.forged-jwt', withHeader(draftOf(blank), 'Authorization', `Bearer ${token}`), refused);
};

/** A tenant's token on a route of workers or operators is forbidden; the worker token on a tenant route is unknown. */
const swapped: Mutation = (blank, _random, { callers }) => {
  const { access } = blank.operation;
  if (access === 'public' || access === 'anybody') return null;
  const token = access === 'tenant' ? callers.workerToken : blank.tenant.token;
  const draft = withHeader(draftOf(blank), 'Authorization', `bEaReR ${token}`);
  return caseOf(blank, 'auth.swapped', draft, { caller: 'nobody', onlyStatuses: [access === 'tenant' ? 401 : 403] });
};

/** The same tenant with a signed token: everything stays the same. */
const signed: Mutation = (blank, _random, { callers }: World) => {
  if (blank.operation.access !== 'tenant') return null;
  const token = validJwt(callers.jwtSecret, blank.tenant.name);
  return caseOf(blank, 'auth.signed', withHeader(draftOf(blank), 'Authorization', `Bearer ${token}`));
};

/** An operator as this tenant: reads answer as they do to the tenant, and nothing else is allowed. */
const readAs: Mutation = (blank, _random, { callers }: World) => {
  const { access, method, id } = blank.operation;
  if (access !== 'tenant') return null;
  const asOperator = withHeader(draftOf(blank), 'Authorization', `Bearer ${callers.adminToken}`);
  const draft = withExtraHeader(asOperator, 'Millrace-Tenant', blank.tenant.name);
  const reads = method === 'GET' || id === 'waitForJobs';
  return caseOf(blank, 'auth.read-as', draft, reads ? {} : { onlyStatuses: [403] });
};

export const AUTH_MUTATIONS: Mutations = {
  'auth.disguise': disguised,
  'auth.twice': twice,
  'auth.forged-jwt': forged,
  'auth.swapped': swapped,
  'auth.signed': signed,
  'auth.read-as': readAs,
};
