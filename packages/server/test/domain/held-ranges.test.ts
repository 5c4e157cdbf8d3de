import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKETS, evenRanges, type BucketRange } from '../../src/domain/cells.js';
import { rangesHeld, type Held } from '../../src/domain/held-ranges.js';

const NEW: Held = { range: null, isUsed: false };
const used = (range: BucketRange): Held => ({ range, isUsed: true });
const unused = (range: BucketRange): Held => ({ range, isUsed: false });

/** Two or more, which hold every bucket together, in any order. */
const services: fc.Arbitrary<BucketRange[]> = fc
  .uniqueArray(fc.integer({ min: 1, max: BUCKETS - 1 }), { minLength: 1, maxLength: 12 })
  .map((cuts) => [0, ...cuts.sort((a, b) => a - b), BUCKETS])
  .map((ends) => ends.slice(1).map((end, n) => ({ first: ends[n]!, last: end - 1 })))
  .chain((ranges) => fc.shuffledSubarray(ranges, { minLength: ranges.length }));

describe('databases that no list describes', () => {
  it('keep what they hold, also if one of them does not answer', () => {
    fc.assert(
      fc.property(services, fc.nat(), (ranges, n) => {
        expect(rangesHeld(ranges.map(used))).toEqual(ranges);
        const silent = n % ranges.length;
        expect(rangesHeld(ranges.map((range, place) => (place === silent ? null : used(range))))).toEqual(ranges);
      }),
    );
  });

  it('are no service if one is left out, given twice, or new beside others', () => {
    fc.assert(
      fc.property(services, fc.nat(), (ranges, n) => {
        const at = n % ranges.length;
        const held = ranges.map(used);
        expect(rangesHeld(held.toSpliced(at, 1))).toMatch(/^no cell holds the buckets /);
        expect(rangesHeld([...held, held[at]!])).toMatch(/overlap$/);
        expect(rangesHeld([...held, null])).toMatch(/no answer, and the others hold every tenant$/);
        expect(rangesHeld(held.with(at, NEW))).toBe(
          `cell${at + 1}: it is empty, while others are in use; is it the right database?`,
        );
      }),
    );
  });

  it('get equal ranges in their order if nobody has used them, and none of them is silent', () => {
    const [one, two, three] = evenRanges(3);
    expect(rangesHeld([NEW, NEW, NEW])).toEqual([one, two, three]);
    // The first start was interrupted.
    expect(rangesHeld([NEW, unused(two!), NEW])).toEqual([one, two, three]);
    expect(rangesHeld([NEW, unused(one!), NEW])).toMatch(/^cell1, cell3: it is empty/);
    expect(rangesHeld([NEW, null, NEW])).toBe('cell2: no answer, and nobody else knows which tenants are there');
  });

  it('say which do not answer, if what they hold cannot be told', () => {
    const [one] = evenRanges(3);
    expect(rangesHeld([null, used(one!), null])).toBe(
      'cell1, cell3: no answer, and nobody else knows which tenants are there',
    );
    expect(rangesHeld([used({ first: 10, last: 20 }), null])).toBe('no cell holds the buckets 0-9');
  });
});
