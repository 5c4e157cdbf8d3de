import { expect, test } from 'vitest';
import { elementsOf, membersOf, objectOf } from '../../../src/lib/json/slice.js';

test('members are cut out as they were written', () => {
  const text = '{ "a" : 9007199254740993 , "b":{"x":1.10,"y":"}\\""},"c":[1,[2]] ,"d":null,"e\\u0031":"s" }';
  expect([...membersOf(text)]).toEqual([
    ['a', '9007199254740993'],
    ['b', '{"x":1.10,"y":"}\\""}'],
    ['c', '[1,[2]]'],
    ['d', 'null'],
    ['e1', '"s"'],
  ]);
  expect(membersOf(text).get('nothing')).toBeUndefined();
  expect(membersOf('{}').size).toBe(0);
  expect(membersOf('[1]').size).toBe(0);
});

test('elements are cut out as they were written', () => {
  expect(elementsOf('[ {"n":1.0}, "a,b" ,[1,2], 1e400 ]')).toEqual(['{"n":1.0}', '"a,b"', '[1,2]', '1e400']);
  expect(elementsOf('[]')).toEqual([]);
});

test('an object is put together from raw texts', () => {
  expect(objectOf({ payload: '{"n":1.10}', 'a"b': '1', none: undefined })).toBe('{"payload":{"n":1.10},"a\\"b":1}');
});
