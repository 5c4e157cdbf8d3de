import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addCounts, latencyBucketOf, LATENCY_BUCKETS, percentile } from '../../src/domain/latency-buckets.js';

const countsOf = (durations: readonly number[]): number[] => {
  const counts = new Array<number>(LATENCY_BUCKETS).fill(0);
  for (const seconds of durations) counts[latencyBucketOf(seconds)]!++;
  return counts;
};
const seconds = fc.double({ min: 0.002, max: 1_000_000, noNaN: true });

describe('durations in buckets', () => {
  it('give percentiles to within the width of a bucket, which is √2', () => {
    fc.assert(
      fc.property(
        fc.array(seconds, { minLength: 1, maxLength: 200 }),
        fc.constantFrom(0.5, 0.95, 0.99),
        (all, share) => {
          const sorted = all.toSorted((a, b) => a - b);
          const truth = sorted[Math.max(1, Math.ceil(all.length * share)) - 1]!;
          const found = percentile(countsOf(all), share)!;
          expect(found).toBeGreaterThan(truth / 1.42);
          expect(found).toBeLessThan(truth * 1.42);
        },
      ),
    );
  });

  it('add up: the percentile of a sum is that of all durations together', () => {
    fc.assert(
      fc.property(fc.array(seconds), fc.array(seconds), (some, others) => {
        const sum = countsOf(some);
        addCounts(sum, countsOf(others));
        expect(percentile(sum, 0.95)).toEqual(percentile(countsOf([...some, ...others]), 0.95));
      }),
    );
  });

  it('are null where nothing was counted', () => {
    expect(percentile([], 0.5)).toBeNull();
    expect(percentile([0, 0], 0.5)).toBeNull();
  });

  it('take what is out of range into the first and the last one', () => {
    expect(latencyBucketOf(-1)).toBe(0);
    expect(latencyBucketOf(Number.NaN)).toBe(0);
    expect(latencyBucketOf(0)).toBe(0);
    expect(latencyBucketOf(1e12)).toBe(LATENCY_BUCKETS - 1);
  });
});
