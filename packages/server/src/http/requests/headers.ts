import { isUtf8 } from 'node:buffer';
import { invalidField, invalidRequest, type MillraceError } from '../../domain/errors.js';

/** Headers of which there can be one: of two, a proxy in front may have judged by the other. */
const SINGLE = new Set(['host', 'authorization', 'idempotency-key']);

/** The refusal of a request that gives one of them twice, or null. `rawHeaders` are names and values by turns. */
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

const ASCII = /^[\x20-\x7e\t]*$/;

/** The text of a header. Node hands over its bytes as Latin-1; what is beyond ASCII must be UTF-8. */
export function headerText(name: string, value: string): string {
  if (ASCII.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  if (!isUtf8(bytes)) throw invalidField(name, 'must be valid UTF-8');
  return bytes.toString();
}

/**
 * Whether the query string is percent-encoded UTF-8. The router decodes it leniently, and would make up text for it.
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
