/**
 * Which text may become a name or a key. PostgreSQL's text cannot hold NUL, and a lone surrogate has no UTF-8 form at
 * all; both are legal in a JSON string, so they do arrive.
 */

// With the `u` flag half of a surrogate pair is not a character by itself, so only lone surrogates match.
const UNSTORABLE = /[\0\p{Surrogate}]/u;

export const isStorableText = (text: string): boolean => !UNSTORABLE.test(text);

/** The number of code points: a surrogate pair counts once. */
export function characterCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if (isHighSurrogate(text.charCodeAt(i)) && isLowSurrogate(text.charCodeAt(i + 1))) {
      count--;
      i++;
    }
  }
  return count;
}

/** In bytes of UTF-8. A UTF-16 unit takes one to three of them, so most texts need not be counted. */
export const isLongerThan = (bytes: number, text: string): boolean =>
  text.length > bytes || (3 * text.length > bytes && Buffer.byteLength(text) > bytes);

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
