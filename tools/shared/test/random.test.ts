import { describe, expect, it } from 'vitest';
import { Random } from '../src/random.js';

const draw = (random: Random, count = 50): number[] => Array.from({ length: count }, () => random.next());

describe('the seeded random', () => {
  it('repeats itself for the same seed, and only for that seed', () => {
    expect(draw(new Random(42))).toEqual(draw(new Random(42)));
    expect(draw(new Random(42))).not.toEqual(draw(new Random(43)));
  });

  it('forks by name, whatever was drawn before', () => {
    const [fresh, used] = [new Random(7), new Random(7)];
    used.next();
    expect(draw(fresh.fork('worker'))).toEqual(draw(used.fork('worker')));
    expect(draw(fresh.fork('worker'))).not.toEqual(draw(fresh.fork('producer')));
  });

  it('gives every numbered fork of every seed its own sequence', () => {
    const words = [1, 2, 3].flatMap((seed) =>
      Array.from({ length: 500 }, (_, index) => new Random(seed).fork(index).word(12)),
    );
    expect(new Set(words).size).toBe(words.length);
    const firsts = Array.from({ length: 10_000 }, (_, index) => new Random(1).fork(index).next());
    expect(firsts.reduce((sum, n) => sum + n, 0) / firsts.length).toBeCloseTo(0.5, 1);
  });

  it('spreads over its range', () => {
    const numbers = draw(new Random(1), 10_000);
    expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true);
    expect(numbers.reduce((sum, n) => sum + n, 0) / numbers.length).toBeCloseTo(0.5, 1);
    const random = new Random(3);
    expect(new Set(Array.from({ length: 500 }, () => random.integer(1, 6)))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
    expect(new Set(Array.from({ length: 500 }, () => random.below(3)))).toEqual(new Set([0, 1, 2]));
    expect(new Set(Array.from({ length: 500 }, () => random.pick(['a', 'b'])))).toEqual(new Set(['a', 'b']));
    expect(draw(random, 500).every(() => Math.abs(random.between(-2, 2)) <= 2)).toBe(true);
  });

  it('shuffles without losing anything, and refuses to pick from nothing', () => {
    const random = new Random(3);
    const items = Array.from({ length: 20 }, (_, n) => n);
    expect(random.shuffle(items)).not.toEqual(items);
    expect(random.shuffle(items).sort((a, b) => a - b)).toEqual(items);
    expect(() => random.pick([])).toThrow('nothing to pick from');
  });

  it('makes words and UUIDs of the right form', () => {
    const random = new Random(5);
    expect(random.word(20)).toMatch(/^[0-9a-z]{20}$/);
    expect(random.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});
