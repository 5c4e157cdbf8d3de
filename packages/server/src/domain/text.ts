import { isStorableText } from '@millrace/sdk/rules';

export { characterCount, isStorableText, noHandlerHere, noServerRuns } from '@millrace/sdk/rules';

/** Text that is made storable, never refused: error texts and the like. Which text that is, the shared rules say. */

const UNSTORABLE_EVERYWHERE = /[\0\p{Surrogate}]/gu;

/** Text that can be stored, at most `maxLength` UTF-16 units of it. Never throws: a failure report must be accepted. */
export function cleanText(text: string, maxLength: number): string {
  const cut = text.length <= maxLength ? text : text.slice(0, endOfCharacter(text, maxLength));
  return isStorableText(cut) ? cut : cut.replace(UNSTORABLE_EVERYWHERE, '\uFFFD');
}

/**
 * What is known about an error beyond its message, as JSON text of at most `maxBytes`: name and stack, whatever they
 * hold. Null if neither is known.
 */
export function errorDetails(
  { name, stack }: { readonly name?: string | null; readonly stack?: string | null },
  maxBytes: number,
): string | null {
  if (typeof name !== 'string' && typeof stack !== 'string') return null;
  const details = {
    ...(typeof name === 'string' && { name: cleanText(name, MAX_ERROR_NAME) }),
    ...(typeof stack === 'string' && { stack: cleanText(stack, maxBytes) }),
  };
  let text = JSON.stringify(details);
  // Escapes and characters beyond ASCII take more bytes than units: by how much too long, by so much shorter.
  for (let bytes = Buffer.byteLength(text); bytes > maxBytes; bytes = Buffer.byteLength(text)) {
    const length = details.stack?.length ?? 0;
    const share = Math.floor((length * maxBytes) / bytes) - MAX_ERROR_NAME;
    details.stack = cleanText(details.stack ?? '', Math.max(0, Math.min(length - 1, share)));
    text = JSON.stringify(details);
  }
  return text;
}

const MAX_ERROR_NAME = 255;

/** Steps back by one if `end` would split a surrogate pair. */
function endOfCharacter(text: string, end: number): number {
  const splitsPair = isHighSurrogate(text.charCodeAt(end - 1)) && isLowSurrogate(text.charCodeAt(end));
  return splitsPair ? end - 1 : end;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
