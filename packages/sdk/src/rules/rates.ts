/** How many jobs may start in a span of time: `count` per `perSecs`, and `burst` at once. */
export interface Rate {
  readonly count: number;
  readonly perSecs: number;
  readonly burst: number;
}

/**
 * Fast rates are kept in steps of this length: tokens may gather for so long, whatever the burst, or a rate of a
 * thousand per second would need a claim every millisecond.
 */
export const STEP_SECS = 0.025;
/** A claim happens a moment after the instant that it bears. */
const GUARD_SECS = 0.01;

/** What a step takes is taken from what comes, so that a span never has more than it may. */
export const spareTokens = ({ count, perSecs }: Rate): number => Math.floor((count * STEP_SECS) / perSecs);

/** Seconds from one token to the next. */
export const intervalSecs = (rate: Rate): number => (rate.perSecs + GUARD_SECS) / (rate.count - spareTokens(rate));
