import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BUCKETS,
  CellMap,
  EVERY_BUCKET,
  evenRanges,
  isSameRange,
  parseRange,
  problemOf,
  rangeText,
  type BucketRange,
  type CellRange,
} from '../../src/domain/cells.js';
import { bucketOf, bucketOfId } from '../../src/domain/ids.js';

const named = (...ranges: BucketRange[]): CellRange[] => ranges.map((range, n) => ({ name: `c${n + 1}`, range }));
/** Every bucket in one of them, in any order. */
const services: fc.Arbitrary<CellRange[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: BUCKETS - 1 }), { maxLength: 20 })
  .map((cuts) => [0, ...cuts.sort((a, b) => a - b), BUCKETS])
  .map((ends) => named(...ends.slice(1).map((end, n) => ({ first: ends[n]!, last: end - 1 }))))
  .chain((cells) => fc.shuffledSubarray(cells, { minLength: cells.length }));

describe('ranges', () => {
  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.nat({ max: BUCKETS - 1 }), fc.nat({ max: BUCKETS - 1 }), (one, two) => {
        const range = { first: Math.min(one, two), last: Math.max(one, two) };
        expect(parseRange(` ${rangeText(range)} `)).toEqual(range);
        expect(isSameRange(range, parseRange(rangeText(range))!)).toBe(true);
      }),
    );
  });

  it.each(['', '5', '-5', '5-', '2-1', '0-65536', 'a-b', '0-1-2', '0x0-0xff', '1.5-2', '0-100000'])(
    'are not %j',
    (text) => expect(parseRange(text)).toBeNull(),
  );

  it('of the same size leave nothing out', () => {
    for (const count of [1, 2, 3, 7, 64, 1_000]) {
      const ranges = evenRanges(count);
      expect(problemOf(named(...ranges))).toBeNull();
      const sizes = ranges.map(({ first, last }) => last - first + 1);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
    }
    expect(evenRanges(1)).toEqual([EVERY_BUCKET]);
  });
});

describe('cells', () => {
  it('are one service exactly if every bucket is in one of them', () => {
    fc.assert(
      fc.property(services, fc.nat(), (cells, n) => {
        expect(problemOf(cells)).toBeNull();
        const at = n % cells.length;
        const without = cells.filter((_, index) => index !== at);
        expect(problemOf(without)).toMatch(/^no cell holds the buckets /);
        if (without.length > 0) expect(problemOf([...cells, { ...cells[at]!, name: 'twice' }])).toMatch(/overlap$/);
        expect(problemOf([...without, { ...cells[at]!, name: without[0]?.name ?? 'other' }])).toBe(
          without.length > 0 ? `two cells are called ${without[0]!.name}` : null,
        );
      }),
    );
  });

  it('say what is wrong', () => {
    expect(problemOf([])).toBe('no cell holds the buckets 0-65535');
    expect(problemOf(named({ first: 0, last: 9 }, { first: 11, last: 65_535 }))).toBe(
      'no cell holds the buckets 10-10',
    );
    expect(problemOf(named({ first: 0, last: 10 }, { first: 10, last: 65_535 }))).toBe(
      'c1 (0-10) and c2 (10-65535) overlap',
    );
    expect(() => new CellMap(named({ first: 0, last: 9 }))).toThrow(RangeError);
  });
});

describe('the map', () => {
  it('leads a tenant and each of its ids to the same cell', () => {
    fc.assert(
      fc.property(services, fc.string({ minLength: 1 }), fc.bigInt({ min: 1n, max: 2n ** 36n }), (cells, tenant, n) => {
        const map = new CellMap(cells);
        const bucket = bucketOf(tenant);
        const place = map.ofTenant(tenant);
        const { first, last } = cells[place]!.range;
        expect(bucket >= first && bucket <= last).toBe(true);
        const hex = bucket.toString(16).padStart(4, '0');
        const id = randomUUID().replace(/^(.{24}).{4}/, `$1${hex}`);
        expect(bucketOfId(id)).toBe(bucket);
        expect([map.ofId(id), map.ofDeadLetter(tenant, String((n << 16n) | BigInt(bucket)))]).toEqual([place, place]);
        // Dead letters of before carry no bucket, and belong to who asks.
        expect(map.ofDeadLetter(tenant, String(n % 65_536n))).toBe(place);
      }),
    );
  });

  it('moves nobody but those of a range that is divided', () => {
    const before = new CellMap(named(...evenRanges(4)));
    const [first, ...rest] = evenRanges(4);
    const half = Math.floor(first!.last / 2);
    const after = new CellMap(named({ first: 0, last: half }, ...rest, { first: half + 1, last: first!.last }));
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (tenant) => {
        if (before.ofTenant(tenant) !== 0) expect(after.ofTenant(tenant)).toBe(before.ofTenant(tenant));
        else expect([0, 4]).toContain(after.ofTenant(tenant));
      }),
    );
  });
});
