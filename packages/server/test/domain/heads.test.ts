import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { doubted, shareOut, type CellHeads, type Head } from '../../src/domain/heads.js';
import { cases } from '../support/cases.js';

const GATED: CellHeads = { heads: [], more: false, gated: true };
const holding = (heads: readonly Head[], more = false): CellHeads => ({ heads, more, gated: false });
const withPriorities = (...priorities: number[]): CellHeads =>
  holding(priorities.map((priority) => ({ priority, at: 0 })));

const heads = fc
  .array(fc.record({ priority: fc.integer({ min: 0, max: 3 }), at: fc.integer({ min: 0, max: 5 }) }), { maxLength: 6 })
  .map((found) => found.sort(inOrder));
const inOrder = (a: Head, b: Head): number => b.priority - a.priority || a.at - b.at;
const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

describe('the shares of databases that say what they hold', () => {
  it('together are the first jobs in claim order', () => {
    fc.assert(
      fc.property(fc.array(heads, { minLength: 1, maxLength: 5 }), fc.nat(12), fc.nat(4), (held, count, first) => {
        const { shares, next } = shareOut(
          held.map((each) => holding(each)),
          count,
          first % held.length,
        );
        const taken = held.flatMap((each, n) => each.slice(0, shares[n]));
        expect(taken.sort(inOrder)).toEqual(held.flat().sort(inOrder).slice(0, count));
        expect(next).toBeNull();
      }),
      { numRuns: cases(100) },
    );
  });
});

describe('the shares of databases of which one cannot say what it holds', () => {
  it('are equal, as far as there is something, and nothing is left over', () => {
    const cell = fc.oneof(
      fc.constant(GATED),
      heads.map((each) => holding(each)),
    );
    fc.assert(
      fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), fc.nat(12), fc.nat(4), (found, count, from) => {
        const cells = [...found, GATED];
        const { shares } = shareOut(cells, count, from % cells.length);
        expect(sum(shares)).toBe(count);
        const full = (n: number): boolean => !cells[n]!.gated && shares[n] === cells[n]!.heads.length;
        const least = Math.min(...shares.filter((_, n) => !full(n)));
        expect(shares.every((share, n) => full(n) || share <= least + 1)).toBe(true);
      }),
      { numRuns: cases(100) },
    );
  });

  it('reach each of them within as many jobs as there are databases, one by one', () => {
    const cells = [GATED, withPriorities(), GATED, GATED, withPriorities(1)];
    const taken = cells.map(() => 0);
    for (let claim = 0, first = 0; claim < 8; claim++) {
      const { shares, next } = shareOut(cells, 1, first);
      shares.forEach((share, n) => (taken[n]! += share));
      first = next!;
    }
    expect(taken).toEqual([2, 0, 2, 2, 2]);
  });

  it('go on where the last claim ended', () => {
    const three = [GATED, GATED, GATED];
    expect(shareOut(three, 2, 1)).toEqual({ shares: [0, 1, 1], next: 0 });
    expect(shareOut(three, 4, 2)).toEqual({ shares: [1, 1, 2], next: 0 });
  });
});

describe('what is known of a database is doubted', () => {
  const known = [withPriorities(3, 1), withPriorities(2)];

  it('if it does not fill the count', () => {
    expect(doubted(known, [2, 1], 4)).toEqual([true, true]);
    expect(doubted(known, [2, 1], 3)).toEqual([false, false]);
    expect(doubted([known[0]!, null], [2, 0], 4)).toEqual([true, false]);
  });

  it('if a share takes all that is known of one that has more', () => {
    const more = holding(known[1]!.heads, true);
    expect(doubted([known[0]!, more], [1, 1], 2)).toEqual([false, true]);
    expect(doubted([known[0]!, more], [1, 0], 1)).toEqual([false, false]);
    // As many as were asked for were seen: whatever is behind them comes later.
    expect(doubted([known[0]!, more], [0, 1], 1)).toEqual([false, false]);
  });
});
