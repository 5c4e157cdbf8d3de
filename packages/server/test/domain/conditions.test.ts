import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparable, judge, readCondition } from '../../src/domain/conditions.js';

const condition = (fields: object): ReturnType<typeof readCondition> => readCondition(JSON.stringify(fields));
const judged = (context: unknown, fields: object, hasCompleted = () => true): boolean =>
  judge(JSON.stringify(context), [condition(fields)], hasCompleted)[0]!;

describe('values', () => {
  it.each([
    ['1', '1.0'],
    ['1', '10e-1'],
    ['1', '0.1E+1'],
    ['0', '-0.00e9'],
    ['-25', '-2.5e1'],
    ['100000000000000000000', '1e20'],
    ['"a"', '"\\u0061"'],
  ])('%s is %s', (one, two) => expect(comparable(one)).toBe(comparable(two)));

  it.each([
    ['1', '"1"'],
    ['9007199254740993', '9007199254740992'],
    ['0.1', '0.1000000000000000055511151231257827'],
    ['true', '"true"'],
    ['null', '"null"'],
    ['false', '0'],
    ['1', '-1'],
    ['1e400', '1e401'],
  ])('%s is not %s', (one, two) => expect(comparable(one)).not.toBe(comparable(two)));

  it('are equal exactly if they are the same number, however they are written', () => {
    const written = fc.record({
      digits: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
      scale: fc.nat({ max: 20 }),
    });
    const plain = ({ digits, scale }: { digits: bigint; scale: number }): string => {
      const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0');
      const point = text.length - scale;
      return `${digits < 0n ? '-' : ''}${text.slice(0, point)}${scale > 0 ? `.${text.slice(point)}` : ''}`;
    };
    const scaled = (value: { digits: bigint; scale: number }): bigint => value.digits * 10n ** BigInt(20 - value.scale);
    fc.assert(
      fc.property(written, written, fc.integer({ min: -20, max: 20 }), (one, two, zeros) => {
        expect(comparable(plain(one))).toBe(comparable(`${one.digits}e-${one.scale}`));
        const more = { digits: one.digits * 10n ** BigInt(Math.abs(zeros)), scale: one.scale + Math.abs(zeros) };
        expect(comparable(plain(more))).toBe(comparable(plain(one)));
        expect(comparable(plain(one)) === comparable(plain(two))).toBe(scaled(one) === scaled(two));
      }),
    );
  });

  it('of any length are compared in linear time', () => {
    const zeros = '0'.repeat(1_000_000);
    expect(comparable(`1${zeros}`)).toBe(comparable('1e1000000'));
    expect(comparable(`"${'x'.repeat(1_000_000)}"`)).toBe(comparable('{}'));
  });
});

describe('a condition', () => {
  const context = { mode: 'fast', charge: { money: { currency: 'EUR', cents: 100 }, list: [1] }, '': 1 };

  it.each<[object, boolean]>([
    [{ ref: { path: ['mode'] }, is: 'fast' }, true],
    [{ ref: { path: ['mode'] }, is_not: 'fast' }, false],
    [{ ref: { path: [''] }, is: 1 }, true],
    [{ ref: { $step: 'charge', path: ['money', 'currency'] }, in: ['CHF', 'EUR'] }, true],
    [{ ref: { $step: 'charge', path: ['money', 'cents'] }, in: [1, 2] }, false],
    [{ ref: { $step: 'charge', path: ['money', 'nothing', 'deeper'] }, is: null }, true],
    [{ ref: { $step: 'charge', path: ['list', '0'] }, is: null }, true],
    [{ ref: { $step: 'charge', path: ['money'] }, is: null }, false],
    [{ ref: { $step: 'charge' }, is_not: null }, true],
    [{ ref: { $step: 'nobody' }, is: null }, true],
  ])('%j: %s', (fields, expected) => expect(judged(context, fields)).toBe(expected));

  it('finds null at a step without a result, whatever the context has under its name', () => {
    const fields = { ref: { $step: 'charge', path: ['money', 'cents'] }, is: null };
    expect(judged(context, fields, () => false)).toBe(true);
    expect(judged(context, { ref: { path: ['charge', 'money', 'cents'] }, is: null }, () => false)).toBe(false);
  });

  it('goes by the last of members with the same name, as JSON does', () => {
    expect(judge('{"a":1,"a":2}', [condition({ ref: { path: ['a'] }, is: 2 })], () => true)).toEqual([true]);
  });

  it('is judged like the value that JSON has there, many at once', () => {
    const scalars = fc.oneof(fc.constantFrom(null, true, false, '', 'a'), fc.integer({ min: -2, max: 2 }));
    const keys = fc.constantFrom('a', 'b', '__proto__', 'ü');
    const values = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, scalars, fc.dictionary(keys, tie('value'), { noNullPrototype: false })),
    })).value;
    const asked = fc.record({
      path: fc.array(keys, { minLength: 1, maxLength: 4 }),
      among: fc.array(scalars, { minLength: 1 }),
    });
    const at = (value: unknown, path: readonly string[]): unknown =>
      path.reduce<unknown>(
        (found, key) =>
          typeof found === 'object' && found !== null && Object.hasOwn(found, key)
            ? (found as Record<string, unknown>)[key]
            : null,
        value,
      );
    fc.assert(
      fc.property(
        fc.dictionary(keys, values, { noNullPrototype: false }),
        fc.array(asked, { maxLength: 8 }),
        (given, all) => {
          const root = JSON.parse(JSON.stringify(given)) as unknown;
          const conditions = all.map(({ path, among }) => condition({ ref: { path }, in: among }));
          const expected = all.map(({ path, among }) =>
            among.some((each) => Object.is(each, at(root, path)) || each === at(root, path)),
          );
          expect(judge(JSON.stringify(given), conditions, () => true)).toEqual(expected);
        },
      ),
    );
  });
});
