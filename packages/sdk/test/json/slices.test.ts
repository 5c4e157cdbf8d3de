import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonElements, jsonMember } from '../../src/index.js';

const spaces = fc.constantFrom(undefined, 1, '\t', 2);

test('every member of an object is found under its name', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), spaces, (object, indent) => {
      const text = ` ${JSON.stringify(object, null, indent)}\n`;
      const { ...parsed } = JSON.parse(text) as Record<string, unknown>;
      for (const [name, value] of Object.entries(parsed)) expect(JSON.parse(jsonMember(text, name)!)).toEqual(value);
    }),
  );
});

test('every element of an array is found in its place', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), spaces, (array, indent) => {
      const text = ` ${JSON.stringify(array, null, indent)}\n`;
      expect([...jsonElements(text)].map((element) => JSON.parse(element) as unknown)).toEqual(JSON.parse(text));
    }),
  );
});

test('what is found is left as it stands', () => {
  const text = '{"a\\u0062": [ 1.10 , 9007199254740993,{ "x" :1e400 } ], "c": "]}\\\\"}';
  expect(jsonMember(text, 'ab')).toBe('[ 1.10 , 9007199254740993,{ "x" :1e400 } ]');
  expect([...jsonElements(jsonMember(text, 'ab')!)]).toEqual(['1.10', '9007199254740993', '{ "x" :1e400 }']);
  expect(jsonMember(text, 'c')).toBe('"]}\\\\"');
});

test.each(['["a", 1]', '"a"', '1', 'null', '{}', ''])('%s has no members', (text) => {
  expect(jsonMember(text, 'a')).toBeUndefined();
});

test.each(['{"a": [1]}', '"[1]"', '1', 'null', '[ ]', ''])('%s has no elements', (text) => {
  expect([...jsonElements(text)]).toEqual([]);
});
