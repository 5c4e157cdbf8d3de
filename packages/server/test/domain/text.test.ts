import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { characterCount, cleanText, isStorableText } from '../../src/domain/text.js';

/** Any sequence of UTF-16 units, including pairs and lone surrogates. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd800, max: 0xdfff }), fc.constant(0)))
  .map((units) => String.fromCharCode(...units));

const survivesUtf8 = (text: string): boolean => Buffer.from(text).toString() === text;

describe('text', () => {
  it('is storable if UTF-8 can encode it and it contains no NUL', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(isStorableText(text)).toBe(survivesUtf8(text) && !text.includes('\0'));
      }),
    );
  });

  it('has one character per code point', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(characterCount(text)).toBe([...text].length);
      }),
    );
  });

  it('is storable after cleaning, within the length, and unchanged if there was nothing to clean', () => {
    fc.assert(
      fc.property(anyText, fc.nat(20), (text, length) => {
        const clean = cleanText(text, length);
        expect(isStorableText(clean)).toBe(true);
        expect(clean.length).toBeLessThanOrEqual(length);
        if (isStorableText(text)) expect(text.startsWith(clean)).toBe(true);
        if (isStorableText(text) && text.length <= length) expect(clean).toBe(text);
        expect(clean.length).toBeGreaterThanOrEqual(Math.min(text.length, length) - 1);
      }),
    );
  });
});
