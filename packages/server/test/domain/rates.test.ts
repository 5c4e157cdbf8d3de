import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bucketTokens,
  claimsLookSecs,
  fullBucket,
  fullSecs,
  hasToken,
  intervalSecs,
  nextTokenSecs,
  refill,
  takeToken,
  type Bucket,
  type Rate,
} from '../../src/domain/rates.js';

const rates: fc.Arbitrary<Rate> = fc
  .record({
    count: fc.integer({ min: 1, max: 100_000 }),
    perSecs: fc.integer({ min: 1, max: 86_400 }),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ count, perSecs, part }) => ({ count, perSecs, burst: 1 + Math.floor(part * (Math.min(count, 50) - 1)) }));
const slow: Rate = { count: 6, perSecs: 60, burst: 2 };
const left = (bucket: Bucket, elapsedSecs: number, more: object = {}) => ({
  ...{ rate: bucket.rate, tokens: bucket.tokens, unclaimed: bucket.unclaimed, elapsedSecs },
  ...{ waited: false, gone: 0, refunded: 0, ...more },
});

describe('a bucket', () => {
  it('begins with its burst, and gets a token per interval', () => {
    const bucket = fullBucket(slow);
    expect(bucketTokens(bucket)).toBe(2);
    bucket.tokens -= 2;
    expect([hasToken(bucket), nextTokenSecs(bucket)]).toEqual([false, intervalSecs(slow)]);
    expect(bucketTokens(refill(left(bucket, intervalSecs(slow) * 0.9), slow))).toBe(0);
    expect(bucketTokens(refill(left(bucket, intervalSecs(slow)), slow))).toBe(1);
    expect(bucketTokens(refill(left(bucket, 3_600), slow))).toBe(2);
    expect(fullSecs(bucket)).toBeCloseTo(2 * intervalSecs(slow));
  });

  it('gives no more while those who have a token are not claimed', () => {
    const bucket = fullBucket(slow);
    takeToken(bucket);
    takeToken(bucket);
    expect(nextTokenSecs(bucket)).toBeNull();
    const later = refill(left(bucket, 3_600), slow);
    expect([bucketTokens(later), later.unclaimed]).toEqual([0, 2]);
    expect(bucketTokens(refill(left(bucket, 3_600, { gone: 2 }), slow))).toBeLessThanOrEqual(2);
  });

  it('takes back what was not used', () => {
    const bucket = fullBucket({ ...slow, burst: 1 });
    takeToken(bucket);
    expect(hasToken(refill(left(bucket, 0, { gone: 1, refunded: 1 }), bucket.rate))).toBe(true);
  });

  it('has no more under a changed rate than that allows', () => {
    const lower = { count: 1, perSecs: 3_600, burst: 1 };
    expect(bucketTokens(refill(left(fullBucket({ count: 100, perSecs: 1, burst: 100 }), 0), lower))).toBe(1);
  });

  it('is not set back by a clock that is', () => {
    const bucket = fullBucket(slow);
    bucket.tokens = 0;
    expect(refill(left(bucket, -100), slow).tokens).toBe(0);
  });

  it('is looked at after a second, then less and less often, and once an hour at least', () => {
    expect([0, 1, 60, 1e9].map(claimsLookSecs)).toEqual([1, 1, 60, 3_600]);
  });

  it('never lets more than count + burst be claimed in a span, whatever is claimed when', () => {
    const steps = fc.array(
      fc.record({ wait: fc.double({ min: 0, max: 3, noNaN: true }), claim: fc.boolean(), drop: fc.nat({ max: 3 }) }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(rates, steps, (rate, all) => {
        let bucket = fullBucket(rate);
        let now = 0;
        let admitted = 0;
        let waited = false;
        const claims: { at: number; n: number }[] = [];
        for (const { wait, claim, drop } of all) {
          // In units of what a token takes, so that something happens whatever the rate is.
          const secs = wait * intervalSecs(rate) * Math.max(1, rate.burst / 2);
          now += secs;
          const gone = claim ? admitted : 0;
          const refunded = Math.min(gone, drop);
          if (gone > refunded) claims.push({ at: now, n: gone - refunded });
          admitted -= gone;
          bucket = refill(left(bucket, secs, { waited, gone, refunded }), rate);
          for (; hasToken(bucket); admitted++) takeToken(bucket);
          waited = true;
          expect(bucket.unclaimed).toBe(admitted);
        }
        for (const { at } of claims) {
          const within = claims.filter((each) => each.at >= at && each.at < at + rate.perSecs);
          expect(within.reduce((sum, { n }) => sum + n, 0)).toBeLessThanOrEqual(rate.count + rate.burst);
        }
      }),
    );
  });

  it('loses nothing while somebody waits and nobody is later than half of what a token takes', () => {
    fc.assert(
      fc.property(
        rates,
        fc.array(fc.double({ min: 0.1, max: 0.5, noNaN: true }), { minLength: 20, maxLength: 60 }),
        (rate, waits) => {
          let bucket = fullBucket(rate);
          bucket.tokens = 0;
          let started = 0;
          let now = 0;
          for (const wait of waits) {
            const secs = wait * intervalSecs(rate);
            now += secs;
            bucket = refill(left(bucket, secs, { waited: true }), rate);
            for (; hasToken(bucket); bucket.tokens--) started++;
          }
          expect(started).toBeGreaterThanOrEqual(Math.floor(now / intervalSecs(rate) - 1e-6));
        },
      ),
    );
  });
});
