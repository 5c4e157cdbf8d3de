import { describe, expect, test } from 'vitest';
import { barsOf, niceTop, secondsTop } from '../../src/components/charts/scale.js';

const SECOND = 1000;

describe('the axes of plots', () => {
  test('end close above what they show, at numbers whose halves are whole', () => {
    expect([0, 3, 7, 11, 13, 18, 130, 1_001, 4_999, 240_000].map(niceTop)).toEqual([
      ...[2, 4, 8, 12, 20, 20, 150, 1_200, 5_000, 250_000],
    ]);
    expect(secondsTop([[0.4, 66]])).toBe(90);
  });

  test('are cut below a lone step, however few there are, and below none that has others beside it', () => {
    expect(secondsTop([[0.1, 0.2, null, 50]])).toBe(0.3);
    // One job was all there was of its step: all lines say the same of it.
    expect(secondsTop([[0.1, 50, 0.1], [0.2, 50, 0.2], []])).toBe(0.3);
    expect(secondsTop([[0.1, 50]])).toBe(60);
    expect(secondsTop([[...Array<number>(40).fill(0.2), 50, 0.2, 60]])).toBe(0.3);
    expect(secondsTop([[...Array<number>(40).fill(0.2), 50, 55, 60, 0.2]])).toBe(60);
    // A line that is always far above another is no outlier of it.
    expect(secondsTop([Array<number>(40).fill(0.1), Array<number>(40).fill(30)])).toBe(30);
    expect(secondsTop([[], [null]])).toBe(0.01);
  });

  test('tell bars that are complete from those at the edges', () => {
    const minute = 60 * SECOND;
    const from = 100 * minute + 15 * SECOND;
    const whole = (now: number) => barsOf(from, 15, 239, now).whole;
    const end = from + 239 * 15 * SECOND;
    expect(whole(end + 15 * SECOND)).toEqual([1, 60]);
    // What was noted in the last step may not have been written yet.
    expect(whole(end + 14 * SECOND)).toEqual([1, 59]);
    expect(barsOf(100 * minute, 15, 240, 160 * minute + 15 * SECOND).whole).toEqual([0, 60]);
  });
});
