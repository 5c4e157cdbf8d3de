import { invalidRequest, type MillraceError } from '../../domain/errors.js';

/** Headers that may appear only once: if there are two, a proxy in front may have decided by the other one. */
const SINGLE = new Set(['host', 'authorization', 'idempotency-key', 'millrace-tenant']);

/** The error for a request that repeats one of them, or null. `rawHeaders` alternates names and values. */
export function repeatedHeader(rawHeaders: readonly string[]): MillraceError | null {
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.has(name)) return invalidRequest(`the header ${rawHeaders[i]} is given more than once`);
    seen.add(name);
  }
  return null;
}

/** RFC 7240: the caller would rather be refused than have a part of its request ignored. The first word counts. */
export function isStrict(prefer: string | string[] | undefined): boolean {
  if (prefer === undefined) return false;
  const [, handling] = /(?:^|,)\s*handling\s*=\s*"?([\w-]+)"?/i.exec(String(prefer)) ?? [];
  return handling?.toLowerCase() === 'strict';
}

/**
 * Whether the query string is percent-encoded UTF-8. The router decodes leniently, and would make up text for anything
 * else.
 */
export function isDecodable(url: string): boolean {
  const start = url.indexOf('?');
  if (start === -1 || !url.includes('%', start)) return true;
  try {
    decodeURIComponent(url.slice(start + 1));
    return true;
  } catch {
    return false;
  }
}
