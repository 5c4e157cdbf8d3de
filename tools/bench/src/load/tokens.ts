import { createHmac } from 'node:crypto';
import { JWT_SECRET, tenantName } from '../work.js';

const VALID_SECS = 86_400;

/** A bearer token for each of the first so many tenants. */
export function tokensOf(tenants: number): string[] {
  const head = encode({ alg: 'HS256', typ: 'JWT' });
  const exp = Math.floor(Date.now() / 1000) + VALID_SECS;
  return Array.from({ length: tenants }, (_, n) => {
    const signed = `${head}.${encode({ sub: tenantName(n), exp })}`;
    return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
  });
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
