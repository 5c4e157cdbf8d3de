/**
 * What others wrote, made safe to show. A name or an error message must not move the cursor, change colours, reverse
 * the order of what follows it, hide a part of itself, or look like output of ours: whatever could is shown as its
 * escape, `\u001b`, as in JSON.
 *
 * These are the control characters (C0, DEL, C1), separators of lines, and format characters that act on their
 * surroundings or cannot be seen at all. Joiners stay: some scripts, and many emoji, need them.
 */
const ACTING = String.raw`\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\u00ad\u200b\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0001}-\u{e007f}`;
const ACTING_ANYWHERE = new RegExp(`[${ACTING}]`, 'gu');
/** In JSON, space between values is of no consequence. */
const ACTING_IN_JSON = new RegExp(`(?![\\t\\n])[${ACTING}]`, 'gu');

/** One line. */
export const plain = (text: string): string => text.replaceAll(/\s+/g, ' ').replaceAll(ACTING_ANYWHERE, escaped);

/** Several lines. */
export const plainLines = (text: string): string[] =>
  text.split(/\r?\n/).map((line) => line.replaceAll('\t', '  ').replaceAll(ACTING_ANYWHERE, escaped));

/** JSON of the same value: outside of strings, the only such character is a carriage return. */
export const plainJson = (json: string): string =>
  json.replaceAll(ACTING_IN_JSON, (character) => (character === '\r' ? ' ' : escaped(character)));

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
