import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { growth, ONE_PASS } from '../support/cpu-time.js';
import { nestingDepth, rawFields, rawFieldsOfEach } from '../../src/domain/raw-json.js';
import { cases } from '../support/cases.js';

/** JSON text of a value with white space, escapes and spellings of numbers that JSON.stringify would never choose. */
const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

const jsonString: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom(
        '\\"',
        '\\\\',
        '\\/',
        '\\u0022',
        '\\u005c',
        '\\ud83d\\ude00',
        '\\ud800',
        '\\u0000',
        '{',
        ']',
        ',',
      ),
    ),
    { maxLength: 5 },
  )
  .map((parts) => `"${parts.join('')}"`);

const scalar = fc.oneof(
  jsonString,
  fc.constantFrom('true', 'false', 'null', '0', '-0', '1.50', '-1e+10', '2E-3', '12345678901234567890', '1e999'),
);

const { value: jsonValue } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie('array'), tie('object')),
  array: fc
    .tuple(fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }), space)
    .map(([items, blank]) => `[${items.map((item) => item.join('')).join(',') || blank}]`),
  object: fc
    .tuple(fc.array(fc.tuple(space, jsonString, space, space, tie('value'), space), { maxLength: 4 }), space)
    .map(
      ([fields, blank]) => `{${fields.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',') || blank}}`,
    ),
}));

/** Spellings of the same key. */
const NAMES = ['payload', 'metadata', 'result'] as const;
const key = fc.oneof(
  jsonString,
  fc.constantFrom('"payload"', '"metadata"', '"result"', '"\\u0070ayload"', '"pay\\u006Coad"', '"\\u006detadata"'),
);

const document = fc
  .tuple(space, fc.array(fc.tuple(space, key, space, space, jsonValue, space), { maxLength: 6 }), space, space)
  .map(
    ([before, fields, blank, after]) =>
      `${before}{${fields.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',') || blank}}${after}`,
  );

describe('rawFields', () => {
  it('finds the text that JSON.parse would have read, in any document', () => {
    fc.assert(
      fc.property(document, (text) => {
        const parsed = JSON.parse(text) as Record<string, unknown>;
        const found = rawFields(text, NAMES);
        NAMES.forEach((name, i) => {
          expect(Object.hasOwn(parsed, name)).toBe(found[i] !== undefined);
          if (found[i] !== undefined) {
            expect(text).toContain(found[i]);
            expect(found[i]).toBe(found[i].trim());
            expect(JSON.parse(found[i])).toEqual(parsed[name]);
          }
        });
      }),
      { numRuns: cases(2000) },
    );
  });

  it.each([
    ['{}', undefined],
    [' { } ', undefined],
    ['{"payload":{}}', '{}'],
    ['{"payload":12345678901234567890}', '12345678901234567890'],
    ['{"a":"payload","payload" : [1 , 2] }', '[1 , 2]'],
    ['{"payload":1,"payload":2}', '2'],
    ['{"x":{"payload":1},"payload":"}"}', '"}"'],
    ['{"\\u0070ayload":true}', 'true'],
    ['{"a\\"payload":1}', undefined],
    ['{"a\\\\":1,"payload":null}', 'null'],
    ['{"payload":"\\\\\\""}', '"\\\\\\""'],
  ])('%s', (text, expected) => {
    expect(rawFields(text, ['payload'])).toEqual([expected]);
  });

  it('is not slow on input that is made to slow it down', () => {
    const made = (size: number): string => `{"a":"${'\\\\'.repeat(size)}","payload":{"s":"${'\\"'.repeat(size)}"}}`;
    expect(rawFields(made(500_000), ['payload'])[0]).toHaveLength(1_000_008);
    const texts = new Map([20_000, 320_000].map((size) => [size, made(size)]));
    expect(growth(320_000, (size) => void rawFields(texts.get(size)!, ['payload']))).toBeLessThan(ONE_PASS);
  });
});

describe('rawFieldsOfEach', () => {
  it('finds in each object of an array what it would find in the object alone', () => {
    const array = fc
      .tuple(fc.array(document, { maxLength: 6 }), space)
      .map(([items, blank]) => ({ items, text: ` [${items.join(',') || blank}] ` }));
    fc.assert(
      fc.property(array, ({ items, text }) => {
        expect(rawFieldsOfEach(text, NAMES)).toEqual(items.map((item) => rawFields(item, NAMES)));
      }),
      { numRuns: cases(1000) },
    );
  });
});

describe('nestingDepth', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

  it('is the depth of the value', () => {
    const value = fc.jsonValue({ maxDepth: 5, noUnicodeString: false });
    fc.assert(
      fc.property(value, (json) => {
        expect(nestingDepth(JSON.stringify(json))).toBe(depthOf(json));
      }),
    );
  });
});
