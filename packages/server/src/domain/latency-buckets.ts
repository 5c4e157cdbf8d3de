/**
 * Durations counted in buckets, so that what several processes saw in several steps adds up to what one would have
 * seen. Percentiles do not add up; counts do.
 *
 * Bucket 0 holds everything up to a millisecond; each further one reaches √2 times as far as the one before, up to
 * about 17 days. A percentile is therefore off by a factor of √2 at most.
 */
const SMALLEST_SECS = 0.001;
const BUCKETS_PER_DOUBLING = 2;
export const LATENCY_BUCKETS = 62;

/** Counts by bucket. Buckets after the last that holds anything may be missing. */
export type BucketCounts = readonly number[];

/** The bucket of a duration. What is longer than the last bucket reaches counts in the last. */
export function latencyBucketOf(seconds: number): number {
  if (!(seconds > SMALLEST_SECS)) return 0;
  return Math.min(LATENCY_BUCKETS - 1, Math.ceil(Math.log2(seconds / SMALLEST_SECS) * BUCKETS_PER_DOUBLING));
}

/** The longest duration that each bucket holds. */
const UPPER_SECS = Array.from(
  { length: LATENCY_BUCKETS },
  (_, bucket) => SMALLEST_SECS * 2 ** (bucket / BUCKETS_PER_DOUBLING),
);

export function addCounts(into: number[], counts: BucketCounts): void {
  for (let bucket = 0; bucket < counts.length; bucket++) into[bucket] = (into[bucket] ?? 0) + counts[bucket]!;
}

/** The duration that the given share of what was counted did not exceed, in seconds; null if nothing was counted. */
export function percentile(counts: BucketCounts, share: number): number | null {
  // Plain loops: a plot of a month asks for thousands of these.
  let total = 0;
  for (const n of counts) total += n;
  if (total === 0) return null;
  const rank = Math.max(1, Math.ceil(total * share));
  let below = 0;
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const n = counts[bucket]!;
    if (below + n < rank) {
      below += n;
      continue;
    }
    // Within the bucket, durations are taken to be spread evenly.
    const lower = bucket === 0 ? 0 : UPPER_SECS[bucket - 1]!;
    return lower + (UPPER_SECS[bucket]! - lower) * ((rank - below) / n);
  }
  return null;
}
