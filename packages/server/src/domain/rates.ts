import { intervalSecs, spareTokens, STEP_SECS, type Rate } from '@millrace/sdk/rules';

/**
 * Rates of limits: a bucket of tokens, one for each job that is let into its queue. In any span of `perSecs` no more
 * than `count + burst` jobs are claimed, although nobody knows when those that were let in will be.
 *
 * That holds because the tokens in the bucket and the jobs that have one and are not claimed (`unclaimed`) are,
 * together, fewer than `burst + spare + 1` at any time. Who is claimed in a span was unclaimed at its beginning, or was
 * given a token within it: one of those that were in the bucket, or one of the `count - spare` that came. Claims are
 * seen when somebody looks, which is later than they happen, so too many are taken for unclaimed, never too few.
 */
export { intervalSecs, STEP_SECS, type Rate };

export interface Bucket {
  readonly rate: Rate;
  /** In parts, too: they come evenly. */
  tokens: number;
  /** How many jobs have a token and have not been claimed. */
  unclaimed: number;
}

/** A bucket as somebody left it, and what has happened since. */
export interface LeftBucket {
  readonly rate: Rate;
  readonly tokens: number;
  readonly elapsedSecs: number;
  /** Somebody waited for a token all the time. */
  readonly waited: boolean;
  /** How many had a token and had not been claimed, as far as was known. */
  readonly unclaimed: number;
  /** How many of them have left the queue: claimed, or cancelled. */
  readonly gone: number;
  /** How many of these were cancelled before anybody claimed them. */
  readonly refunded: number;
}

/** How much of a token may come while it could not be given out: so nothing is lost when a claim or a look is late. */
const CATCH_UP = 0.5;
/** Less than any look can tell. */
const NEARLY = 1e-6;
const FIRST_LOOK_SECS = 1;
const LAST_LOOK_SECS = 3_600;

const capacity = (rate: Rate): number => rate.burst + spareTokens(rate);

export const fullBucket = (rate: Rate): Bucket => ({ rate, tokens: capacity(rate), unclaimed: 0 });

/** What is in the bucket now, under a rate that may have changed. */
export function refill(left: LeftBucket, rate: Rate): Bucket {
  const busy = left.waited || left.unclaimed > 0;
  const grown = left.tokens + Math.max(0, left.elapsedSecs) / intervalSecs(left.rate);
  const tokens = Math.min(grown, roomFor(left.rate, left.unclaimed, busy)) + left.refunded;
  const unclaimed = left.unclaimed - left.gone;
  return { rate, tokens: Math.min(tokens, roomFor(rate, unclaimed, true)), unclaimed };
}

/** How many tokens the bucket can hold beside the unclaimed jobs. */
const roomFor = (rate: Rate, unclaimed: number, busy: boolean): number =>
  Math.max(0, capacity(rate) - unclaimed + (busy ? CATCH_UP : 0));

export const hasToken = ({ tokens }: Bucket): boolean => tokens >= 1 - NEARLY;

/** How many whole ones there are. */
export const bucketTokens = ({ tokens }: Bucket): number => Math.max(0, Math.floor(tokens + NEARLY));

export function takeToken(bucket: Bucket): void {
  bucket.tokens--;
  bucket.unclaimed++;
}

/** Seconds until the next token; null: none comes before somebody is claimed. */
export function nextTokenSecs({ rate, tokens, unclaimed }: Bucket): number | null {
  return roomFor(rate, unclaimed, true) < 1 ? null : Math.max(0, 1 - tokens) * intervalSecs(rate);
}

/** Seconds until the bucket is like a new one. */
export const fullSecs = ({ rate, tokens }: Bucket): number => Math.max(0, capacity(rate) - tokens) * intervalSecs(rate);

/**
 * When to look whether unclaimed jobs have been claimed, although nobody said so: who claimed them is gone. The longer
 * nobody came for the oldest, the less often.
 */
export const claimsLookSecs = (oldestSecs: number): number =>
  Math.min(LAST_LOOK_SECS, Math.max(FIRST_LOOK_SECS, oldestSecs));
