import { describe, expect, it } from 'vitest';
import { seededRandom } from '../src/stage/random.js';

const draw = (seed: number, n = 50): number[] => {
  const random = seededRandom(seed);
  return Array.from({ length: n }, () => random.next());
};

describe('the seeded random', () => {
  it('repeats itself for the same seed, and only for it', () => {
    expect(draw(42)).toEqual(draw(42));
    expect(draw(42)).not.toEqual(draw(43));
  });

  it('forks by name, whatever was drawn before', () => {
    const [one, other] = [seededRandom(7), seededRandom(7)];
    other.next();
    expect(one.fork('worker').next()).toBe(other.fork('worker').next());
    expect(one.fork('worker').next()).not.toBe(one.fork('producer').next());
  });

  it('spreads over its range', () => {
    const numbers = draw(1, 10_000);
    expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true);
    expect(numbers.reduce((sum, n) => sum + n, 0) / numbers.length).toBeCloseTo(0.5, 1);
    const random = seededRandom(3);
    expect(new Set(Array.from({ length: 500 }, () => random.integer(1, 6)))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
    expect(random.shuffle([1, 2, 3, 4, 5]).sort()).toEqual([1, 2, 3, 4, 5]);
  });
});
