import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeTurns, turnOf, type Group } from '../../src/domain/shares.js';

const groups: fc.Arbitrary<Group[]> = fc
  .array(fc.nat({ max: 40 }), { maxLength: 12 })
  .map((waiting) => waiting.map((n, index) => ({ line: index === 3 ? null : `line-${index}`, waiting: n })));
const wanted = fc.integer({ min: 1, max: 200 });
const countOf = (served: readonly { line: string | null; count: number }[], line: string | null): number =>
  served.find((each) => each.line === line)?.count ?? 0;

describe('turns', () => {
  it('give one job after the other, in the order of their turns', () => {
    const all = ['a', 'b', 'c'].map((line) => ({ line, waiting: 10 }));
    expect(takeTurns(all, 4)).toEqual({
      ...{ last: 'a', atATime: 1 },
      served: [
        { line: 'a', count: 2, seat: 1 },
        { line: 'b', count: 1, seat: 2 },
        { line: 'c', count: 1, seat: 3 },
      ],
    });
  });

  it('give everything to who is alone, and nothing to nobody', () => {
    expect(takeTurns([{ line: 'a', waiting: 100 }], 30).served).toEqual([{ line: 'a', count: 30, seat: 1 }]);
    expect(takeTurns([], 30)).toMatchObject({ served: [], last: null });
    expect(takeTurns([{ line: 'a', waiting: 0 }], 30)).toMatchObject({ served: [], last: null });
  });

  it('take what is wanted, or all there is, and no more than waits anywhere', () => {
    fc.assert(
      fc.property(groups, wanted, (all, count) => {
        const { served } = takeTurns(all, count);
        const waiting = all.reduce((sum, group) => sum + group.waiting, 0);
        expect(served.reduce((sum, each) => sum + each.count, 0)).toBe(Math.min(count, waiting));
        for (const each of served) {
          expect(each.count).toBeGreaterThan(0);
          expect(each.count).toBeLessThanOrEqual(all[each.seat - 1]!.waiting);
          expect(all[each.seat - 1]!.line).toBe(each.line);
        }
      }),
    );
  });

  it('leave nobody who still waits more than one turn behind anybody', () => {
    fc.assert(
      fc.property(groups, wanted, (all, count) => {
        const { served, atATime } = takeTurns(all, count);
        expect(atATime).toBe(turnOf(count));
        const most = Math.max(0, ...served.map((each) => each.count));
        for (const { line, waiting } of all) {
          const got = countOf(served, line);
          if (got < waiting) expect(most - got).toBeLessThanOrEqual(atATime);
        }
      }),
    );
  });

  it('go on after who was served last: one claim after the other is as fair as one for all', () => {
    fc.assert(
      fc.property(
        groups.filter((all) => all.length > 0),
        fc.integer({ min: 1, max: 60 }),
        (all, count) => {
          const counts = new Map<string | null, number>();
          let order = all;
          for (let n = 0; n < count; n++) {
            const { served, last } = takeTurns(order, 1);
            if (served.length === 0) break;
            counts.set(last, (counts.get(last) ?? 0) + 1);
            const place = order.findIndex(({ line }) => line === last);
            const taken = order.map((group, at) => (at === place ? { ...group, waiting: group.waiting - 1 } : group));
            order = [...taken.slice(place + 1), ...taken.slice(0, place + 1)];
          }
          const most = Math.max(0, ...counts.values());
          for (const { line, waiting } of order)
            if (waiting > 0) expect(most - (counts.get(line) ?? 0)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('are of a few jobs each where a claim is for many', () => {
    const all = ['a', 'b'].map((line) => ({ line, waiting: 1_000 }));
    const { served, atATime } = takeTurns(all, 100);
    expect(atATime).toBeGreaterThan(1);
    expect(Math.abs(countOf(served, 'a') - countOf(served, 'b'))).toBeLessThanOrEqual(atATime);
  });
});
