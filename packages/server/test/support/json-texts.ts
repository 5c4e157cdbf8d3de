import fc from 'fast-check';

/** JSON text of a value with white space, escapes and spellings of numbers that JSON.stringify would never choose. */
export const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);

export const jsonString: fc.Arbitrary<string> = fc
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

export const { value: jsonValue } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
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
