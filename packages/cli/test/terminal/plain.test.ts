import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cases } from '../../../server/test/support/cases.js';
import { plain, plainJson, plainLines } from '../../src/terminal/plain.js';

const ACTS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;
/** Mostly characters that matter here. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '\u001b',
      '\u009b',
      '\u0085',
      '\u202e',
      '\u2066',
      '\u200f',
      '\u2028',
      '\ufeff',
      '\u{e0041}',
      '\r',
      '\n',
      '\t',
      '"',
      '\\',
      'a',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});

describe('text that others wrote', () => {
  it.each([
    ['\u001b[31mred', '\\u001b[31mred'],
    ['\u009b31mred', '\\u009b31mred'],
    ['a\u202eb\u2066c\u200f', 'a\\u202eb\\u2066c\\u200f'],
    ['zero\u200bwidth', 'zero\\u200bwidth'],
    ['tag \u{e0041}', 'tag \\udb40\\udc41'],
    ['line\r\nbreak\tand\u2028more', 'line break and more'],
    ['👩‍🚀 and فارسی‌زبان', '👩‍🚀 and فارسی‌زبان'],
  ])('%j becomes %j', (given, shown) => {
    expect(plain(given)).toBe(shown);
  });

  it('holds nothing that acts on a terminal, on one line or on several', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(plain(given)).not.toMatch(ACTS);
        for (const line of plainLines(given)) expect(line).not.toMatch(ACTS);
      }),
      { numRuns: cases(200) },
    );
  });

  it('is the same value in JSON that is safe to show', () => {
    fc.assert(
      fc.property(
        fc.dictionary(text, fc.oneof(text, fc.array(text))),
        fc.constantFrom(0, 2, '\r\n', '\t'),
        (value, space) => {
          // Raw, as JSON allows it: only quotes, backslashes and C0 must be escaped.
          const shown = plainJson(
            JSON.stringify(value, null, 2).replaceAll('\n', typeof space === 'string' ? space : '\n'),
          );
          expect(JSON.parse(shown)).toEqual(value);
          expect(shown.replaceAll(/[\t\n]/g, '')).not.toMatch(ACTS);
        },
      ),
      { numRuns: cases(200) },
    );
  });
});
