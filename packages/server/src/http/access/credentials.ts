import { hash, randomBytes } from 'node:crypto';
import { JwtVerifier } from './jwt.js';
import type { Principal } from './principal.js';

export interface AuthSettings {
  readonly dev: boolean;
  /** Token to tenant. */
  readonly apiKeys: ReadonlyMap<string, string>;
  /** Token to tenant, for credentials that may only read. */
  readonly readKeys: ReadonlyMap<string, string>;
  readonly jwtSecrets: readonly string[];
  /** Token to the queues that it is limited to; null: all of them. */
  readonly workerTokens: ReadonlyMap<string, ReadonlySet<string> | null>;
  /** Token to the name of the operator, if it has one. Empty: there are no operators, and no routes for them. */
  readonly adminTokens: ReadonlyMap<string, string | null>;
}

const DEVELOPER: Principal = { kind: 'developer', tenant: 'tenant1' };

/**
 * Turns a bearer token into a principal, or null.
 *
 * Tokens are never compared with each other. Both sides are hashed with a salt that only this process knows, and the
 * digest is looked up. How long the lookup takes depends on bits that the caller can neither choose nor learn, so it
 * reveals nothing about a token, and it takes as long with a thousand keys as with one.
 */
export class Credentials {
  readonly #dev: boolean;
  readonly #salt = randomBytes(16).toString('hex');
  #known: ReadonlyMap<string, Principal> = new Map();
  #jwt: JwtVerifier | null = null;

  constructor(settings: AuthSettings) {
    this.#dev = settings.dev;
    this.replace(settings);
  }

  /** From the next request on these are valid, and no others; what was remembered of JWTs is forgotten. */
  replace({ apiKeys, readKeys, jwtSecrets, workerTokens, adminTokens }: Omit<AuthSettings, 'dev'>): void {
    const tenants = (keys: ReadonlyMap<string, string>, readOnly: boolean): [string, Principal][] =>
      [...keys].map(([token, tenant]) => [token, { kind: 'tenant', tenant, readOnly, expiresAt: null }]);
    const tokens: [string, Principal][] = [
      ...tenants(apiKeys, false),
      ...tenants(readKeys, true),
      ...[...workerTokens].map(([token, queues]): [string, Principal] => [token, { kind: 'worker', queues }]),
      ...[...adminTokens].map(([token, name]): [string, Principal] => [token, { kind: 'admin', name }]),
    ];
    this.#known = new Map(tokens.map(([token, principal]) => [this.#digest(headerText(token)), principal]));
    this.#jwt = jwtSecrets.length === 0 ? null : new JwtVerifier(jwtSecrets);
  }

  /** Returns a promise only for tokens that have to be verified as a JWT. */
  identify(token: string): Principal | null | Promise<Principal | null> {
    if (this.#dev) return DEVELOPER;
    const digest = this.#digest(token);
    const known = this.#known.get(digest);
    if (known !== undefined) return known;
    return this.#jwt === null ? null : this.#jwt.verify(token, digest);
  }

  #digest(token: string): string {
    return hash('sha256', this.#salt + token, 'base64');
  }
}

/** A token as Node presents it when it arrives in a header: its bytes, decoded as Latin-1. */
const headerText = (token: string): string => Buffer.from(token).toString('latin1');

/** The token of an Authorization header, or null if there is none. The scheme is not case-sensitive. */
export function tokenOfHeader(header: string | undefined): string | null {
  if (header === undefined || header.length < 8 || header.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const token = header.slice(7).trim();
  return token === '' ? null : token;
}
