import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BUCKETS, EVERY_BUCKET, evenRanges, type BucketRange } from '../../src/domain/cells.js';
import { listProblem, rangesHeld, type Held } from '../../src/domain/held-ranges.js';

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

describe('databases of a list', () => {
  const LIST = evenRanges(3);
  const problem = (...held: readonly (Held | null)[]): ReturnType<typeof listProblem> =>
    listProblem(LIST.map((range, n) => ({ name: `c${n + 1}`, range, held: held[n]! })));
  const own = (n: number, isUsed = true): Held => ({ range: LIST[n]!, isUsed });
  const EMPTY = 'cell c2: the database is empty, while others are in use: is it the right one?';

  it('are the service if each holds its part, or nobody has used any of them', () => {
    expect(problem(own(0), own(1), own(2))).toBeNull();
    expect(problem(own(0), null, own(2))).toBeNull();
    expect(problem(null, null, null)).toBeNull();
    expect(problem(NEW, NEW, NEW)).toBeNull();
    expect(problem(own(0), own(1, false), own(2))).toBeNull();
    // All there was before: none of the others has ever had a tenant.
    expect(problem(used(EVERY_BUCKET), NEW, NEW)).toBeNull();
  });

  it('are not if one holds other tenants', () => {
    expect(problem(own(0), own(2), own(2))).toEqual({
      text: 'cell c2: the database holds the buckets 43690-65535, and is listed with 21845-43689',
      mayPass: false,
    });
  });

  it('are not if one is empty while others have their part', () => {
    expect(problem(own(0), NEW, own(2))).toEqual({ text: EMPTY, mayPass: false });
    expect(problem(own(0, false), NEW, own(2, false))).toEqual({ text: EMPTY, mayPass: true });
    expect(problem(own(0), NEW, null)).toEqual({ text: EMPTY, mayPass: false });
  });

  it('are not at a first start if one does not answer', () => {
    const text = 'cell c2: no answer, and a first start needs all of them';
    for (const first of [NEW, used(EVERY_BUCKET)]) expect(problem(first, null, NEW)).toEqual({ text, mayPass: true });
    expect(listProblem([{ name: 'one', range: EVERY_BUCKET, held: null }])).toBeNull();
    expect(listProblem([{ name: 'one', range: EVERY_BUCKET, held: used(EVERY_BUCKET) }])).toBeNull();
  });
});
