/**
 * What text may become a name, a key or a message. PostgreSQL's text cannot hold NUL, and a lone surrogate has no
 * UTF-8 form at all; both are legal inside a JSON string, so they do arrive.
 */

// With the `u` flag a surrogate that is half of a pair is no character of its own, so only lone ones match.
const UNSTORABLE = /[\0\p{Surrogate}]/u;
const UNSTORABLE_EVERYWHERE = /[\0\p{Surrogate}]/gu;

export const isStorableText = (text: string): boolean => !UNSTORABLE.test(text);

/** Characters as a reader counts them: a pair of surrogates is one. */
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

/** Text that can be stored, at most `maxLength` UTF-16 units of it. Never refuses: a report of failure must land. */
export function cleanText(text: string, maxLength: number): string {
  const cut = text.length <= maxLength ? text : text.slice(0, endOfCharacter(text, maxLength));
  return isStorableText(cut) ? cut : cut.replace(UNSTORABLE_EVERYWHERE, '\uFFFD');
}

/** Steps back by one when `end` would tear a pair of surrogates apart. */
function endOfCharacter(text: string, end: number): number {
  const tearsPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return tearsPair ? end - 1 : end;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
