import { describe, expect, test } from 'vitest';
import { canonicalNumber, parseExact, sameJson } from '../src/exact-json.js';

const same = (one: string, other: string): boolean => sameJson(parseExact(one), parseExact(other));

describe('JSON without loss', () => {
  test.each([
    ['1.10', '1.1'],
    ['100', '1e2'],
    ['-0.5', '-5E-1'],
    ['0.000', '0'],
    ['"\\u0041\\/"', '"A/"'],
    [' { "a" : [ 1 , null ] , "b" : {} } ', '{"b":{},"a":[1,null]}'],
  ])('%s is %s', (one, other) => {
    expect(same(one, other)).toBe(true);
  });

  test.each([
    ['9007199254740993', '9007199254740992'],
    ['1', '"1"'],
    ['1', '-1'],
    ['[1,2]', '[2,1]'],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['0.1', '0.10000000000000001'],
  ])('%s is not %s', (one, other) => {
    expect(same(one, other)).toBe(false);
  });

  test('whatever JavaScript can write reads as itself', () => {
    const value = { text: 'a"\\\n\u2028😀', list: [1.5e-7, -0, true, null, [], {}], __proto__x: 1 };
    expect(same(JSON.stringify(value), JSON.stringify(value, null, 2))).toBe(true);
  });

  test('text after the end is an error', () => {
    expect(() => parseExact('{} {}')).toThrow(SyntaxError);
  });

  test('numbers have one form', () => {
    expect(canonicalNumber('12.50e1')).toBe('125e0');
    expect(canonicalNumber('-0')).toBe('0');
  });
});
