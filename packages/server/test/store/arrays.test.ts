import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boolArray,
  float8Array,
  int4Array,
  int8Array,
  jsonArray,
  plainArray,
  textArray,
  uuidArray,
} from '../../src/store/arrays.js';
import { cases } from '../support/cases.js';

interface Decoded {
  readonly dimensions: number;
  readonly hasNull: boolean;
  readonly oid: number;
  readonly elements: readonly (Buffer | null)[];
}

/** By PostgreSQL's description of the format (array_recv), and nothing may be left over. */
function decode(buffer: Buffer): Decoded {
  let at = 0;
  const next = (): number => {
    at += 4;
    return buffer.readInt32BE(at - 4);
  };
  const [dimensions, flags, oid] = [next(), next(), next()];
  const length = dimensions === 0 ? 0 : next();
  if (dimensions > 0) expect(next(), 'the lower bound').toBe(1);
  const elements = Array.from({ length }, () => {
    const bytes = next();
    if (bytes === -1) return null;
    at += bytes;
    return buffer.subarray(at - bytes, at);
  });
  expect(at).toBe(buffer.length);
  return { dimensions, hasNull: flags === 1, oid, elements };
}

const readAs = <T>(buffer: Buffer, read: (element: Buffer) => T): (T | null)[] =>
  decode(buffer).elements.map((element) => (element === null ? null : read(element)));

const text = (element: Buffer): string => element.toString('utf8');
const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> => fc.array(fc.option(values));

function holds<T>(values: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(
    fc.property(values, (value) => void check(value)),
    { numRuns: cases(200) },
  );
}

describe('an array in the binary format', () => {
  it('holds texts as they are: ASCII or not, empty, and null', () => {
    const ascii = fc.string({ unit: 'grapheme-ascii' });
    const any = fc.string({ unit: 'grapheme' });
    for (const values of [fc.array(ascii), orNull(ascii), orNull(any)])
      holds(values, (given) => {
        expect(readAs(textArray(given), text)).toEqual(given);
        expect(readAs(jsonArray(given), text)).toEqual(given);
      });
  });

  it.each([4_095, 4_096, 65_536, 2 * 1024 * 1024])('holds texts of %i bytes', (length) => {
    for (const letter of ['x', 'é']) {
      const given = [letter.repeat(length / Buffer.byteLength(letter)), '', 'a'];
      expect(readAs(textArray(given), text)).toEqual(given);
    }
  });

  it('holds integers, up to the ends of their ranges', () => {
    holds(orNull(fc.integer()), (given) =>
      expect(readAs(int4Array(given), (element) => element.readInt32BE())).toEqual(given),
    );
    const safe = fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
    holds(orNull(safe), (given) =>
      expect(readAs(int8Array(given), (element) => element.readBigInt64BE())).toEqual(
        given.map((value) => (value === null ? null : BigInt(value))),
      ),
    );
  });

  it('holds fractions and truth values', () => {
    holds(orNull(fc.double()), (given) =>
      expect(readAs(float8Array(given), (element) => element.readDoubleBE())).toEqual(given),
    );
    holds(orNull(fc.boolean()), (given) =>
      expect(readAs(boolArray(given), (element) => element.readUInt8() === 1)).toEqual(given),
    );
  });

  it('holds UUIDs, given as text in capital or small letters or as bytes', () => {
    const bytes = (uuid: string): string => uuid.replaceAll('-', '').toLowerCase();
    holds(orNull(fc.uuid()), (given) => {
      const expected = given.map((uuid) => (uuid === null ? null : bytes(uuid)));
      const forms = [
        given,
        given.map((uuid) => uuid?.toUpperCase() ?? null),
        given.map((uuid) => (uuid === null ? null : Buffer.from(bytes(uuid), 'hex'))),
      ];
      for (const form of forms) expect(readAs(uuidArray(form), (element) => element.toString('hex'))).toEqual(expected);
    });
  });

  it('says its type, and whether a null is in it; an empty one has no dimension', () => {
    const arrays = [textArray, jsonArray, int4Array, int8Array, float8Array, boolArray, uuidArray];
    const oids = [25, 114, 23, 20, 701, 16, 2950];
    expect(arrays.map((array) => decode(array([])))).toEqual(
      oids.map((oid) => ({ dimensions: 0, hasNull: false, oid, elements: [] })),
    );
    expect(arrays.map((array) => decode(array([null])))).toEqual(
      oids.map((oid) => ({ dimensions: 1, hasNull: true, oid, elements: [null] })),
    );
    expect(decode(textArray(['a'])).hasNull).toBe(false);
  });
});

it('an array of plain texts quotes each of them, and not null', () => {
  expect(plainArray(['2026-01-31T09:00:00Z', null, 'null', 'a,b'])).toBe('{"2026-01-31T09:00:00Z",NULL,"null","a,b"}');
  expect(plainArray([])).toBe('{}');
});
