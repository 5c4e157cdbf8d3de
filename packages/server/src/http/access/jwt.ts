import { webcrypto } from 'node:crypto';
import { jwtVerify } from 'jose';
import type { TenantPrincipal } from './principal.js';
import { isTenantName } from './tenant-name.js';

/** The claim that narrows a token, and the one value it has. */
const SCOPE_CLAIM = 'millrace_scope';
const READ_SCOPE = 'read';

interface Verified {
  readonly principal: TenantPrincipal;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

interface Claims {
  readonly sub?: unknown;
  readonly exp?: number;
  readonly [SCOPE_CLAIM]?: unknown;
}

const MAX_REMEMBERED = 10_000;
const REMEMBER_MS = 60_000;

/**
 * Identifies tenants by HS256 JWT: `sub` names the tenant, `exp` is required and enforced, and `nbf` is honoured. No
 * other algorithm is accepted, whatever the token's header says.
 *
 * A verified token is remembered by its digest for at most a minute and never beyond its `exp`, since checking the
 * signature costs more than the rest of a small request.
 */
export class JwtVerifier {
  readonly #keys: Promise<readonly webcrypto.CryptoKey[]>;
  readonly #remembered = new Map<string, Verified>();

  /** Several secrets: a token that any of them has signed is valid, so that one can replace another without a gap. */
  constructor(secrets: readonly string[]) {
    const algorithm = { name: 'HMAC', hash: 'SHA-256' };
    const keyOf = (secret: string): Promise<webcrypto.CryptoKey> =>
      webcrypto.subtle.importKey('raw', Buffer.from(secret), algorithm, false, ['verify']);
    this.#keys = Promise.all(secrets.map(keyOf));
  }

  verify(token: string, digest: string): TenantPrincipal | null | Promise<TenantPrincipal | null> {
    const remembered = this.#remembered.get(digest);
    if (remembered !== undefined) {
      if (Date.now() < remembered.until) return remembered.principal;
      this.#remembered.delete(digest);
    }
    return this.#check(token, digest);
  }

  async #check(token: string, digest: string): Promise<TenantPrincipal | null> {
    if (!hasCanonicalSignature(token)) return null;
    const claims = await this.#claims(token);
    if (claims === null) return null;
    // JSON can express numbers that JavaScript reads as infinite; a token with such an `exp` would never expire.
    if (!isTenantName(claims.sub) || !Number.isFinite(claims.exp)) return null;
    // A scope that we do not know was meant to narrow the token: it must not widen it.
    const scope = claims[SCOPE_CLAIM];
    if (scope !== undefined && scope !== READ_SCOPE) return null;
    const expiresAt = (claims.exp ?? 0) * 1000;
    const principal: TenantPrincipal = {
      kind: 'tenant',
      tenant: claims.sub,
      readOnly: scope === READ_SCOPE,
      expiresAt,
    };
    this.#remember(digest, { principal, until: Math.min(Date.now() + REMEMBER_MS, expiresAt) });
    return principal;
  }

  async #claims(token: string): Promise<Claims | null> {
    for (const key of await this.#keys) {
      try {
        return (await jwtVerify(token, key, { algorithms: ['HS256'], requiredClaims: ['sub', 'exp'] })).payload;
      } catch {
        // Another secret may have signed it.
      }
    }
    return null;
  }

  #remember(digest: string, verified: Verified): void {
    if (this.#remembered.size >= MAX_REMEMBERED) {
      const [oldest] = this.#remembered.keys();
      if (oldest !== undefined) this.#remembered.delete(oldest);
    }
    this.#remembered.set(digest, verified);
  }
}

/**
 * Decoders skip characters that are not base64url and ignore unused bits, so one signature could be written in many
 * ways. Only the canonical one is accepted: an altered token is a different token.
 */
function hasCanonicalSignature(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}
