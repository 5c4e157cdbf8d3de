/** What can travel in `Authorization: Bearer …`: visible ASCII. Anything else could never match a request. */
const BEARER = /^[\x21-\x7e]+$/;

/**
 * The token in a text, or null if no header can carry it. A secret that was read from a file often ends with a line
 * end, which does not count.
 */
export function bearerTokenOf(text: string): string | null {
  const token = text.trim();
  return BEARER.test(token) ? token : null;
}
