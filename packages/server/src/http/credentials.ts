import { createHash, randomBytes } from 'node:crypto';
import { JwtVerifier } from './jwt.js';
import type { Principal } from './principal.js';

export interface AuthSettings {
  readonly dev: boolean;
  /** Token to tenant. */
  readonly apiKeys: ReadonlyMap<string, string>;
  readonly jwtSecret: string | null;
  readonly workerToken: string | null;
}

const DEVELOPER: Principal = { kind: 'developer', tenant: 'tenant1' };

/**
 * Turns a bearer token into a principal, or null.
 *
 * Tokens are never compared with each other. Both sides are digested under a salt that only this process knows, and
 * the digest is looked up: how long the lookup takes depends on bits that the caller can neither choose nor learn, so
 * it tells nothing about a token, and it takes as long with a thousand keys as with one.
 */
export class Credentials {
  readonly #dev: boolean;
  readonly #salt = randomBytes(16);
  readonly #known = new Map<string, Principal>();
  readonly #jwt: JwtVerifier | null;

  constructor(settings: AuthSettings) {
    this.#dev = settings.dev;
    this.#jwt = settings.jwtSecret === null ? null : new JwtVerifier(settings.jwtSecret);
    for (const [token, tenant] of settings.apiKeys) {
      this.#known.set(this.#digest(Buffer.from(token)), { kind: 'tenant', tenant });
    }
    if (settings.workerToken !== null) {
      this.#known.set(this.#digest(Buffer.from(settings.workerToken)), { kind: 'worker' });
    }
  }

  /** Only tokens that have to be verified as a JWT cost a promise. */
  identify(token: string): Principal | null | Promise<Principal | null> {
    if (this.#dev) return DEVELOPER;
    // Node decodes header bytes as Latin-1; taking them back gives the bytes that were sent.
    const digest = this.#digest(Buffer.from(token, 'latin1'));
    const known = this.#known.get(digest);
    if (known !== undefined) return known;
    return this.#jwt === null ? null : this.#jwt.verify(token, digest);
  }

  #digest(token: Buffer): string {
    return createHash('sha256').update(this.#salt).update(token).digest('base64');
  }
}

/** The token of an Authorization header, or null when there is none to speak of. The scheme's case does not matter. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined || header.length < 8 || header.slice(0, 7).toLowerCase() !== 'bearer ') return null;
  const token = header.slice(7).trim();
  return token === '' ? null : token;
}
