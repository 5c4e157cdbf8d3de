import { wholeSteps } from '../../lib/series.js';

/** Ends of an axis of seconds that read well, and whose halves do. */
const SECONDS = [
  ...[0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 3, 4, 6, 8, 10, 14, 20, 30, 40, 60, 90, 120, 180, 240, 300],
  ...[480, 600, 900, 1200, 1800, 2400, 3600, 5400, 7200, 10_800, 14_400, 21_600, 28_800, 43_200, 64_800, 86_400],
  ...[129_600, 172_800, 259_200, 345_600, 518_400, 864_000, 1_728_000, 2_592_000, 3_456_000],
];
const FACTORS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The smallest end that reads well, is not below the value, and of which half is a whole number. */
export function niceTop(value: number): number {
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  const ends = FACTORS.map((factor) => Math.round(factor * power));
  return ends.find((end) => end >= value && end % 2 === 0) ?? value;
}

const niceSeconds = (value: number): number => SECONDS.find((end) => end >= value) ?? value;

/** So much larger than what is usual, a step is an outlier. */
const OUTLIER = 8;
/** At most one step in so many, and at least one, may be. */
const USUAL_PER_OUTLIER = 20;
/** More of them side by side are something that happened, and worth to be seen as a whole. */
const SIDE_BY_SIDE = 2;
/** Of fewer steps none is usual. */
const LEAST_STEPS = 3;

/**
 * The end of an axis of seconds, for lines with a value per step. A lone step far above the others does not flatten
 * them: the axis is cut, and whoever draws marks what stands above its end. Steps are judged, not values: on a quiet
 * service one slow job is all that there is of its step, in every line.
 */
export function secondsTop(lines: readonly (readonly (number | null)[])[]): number {
  const steps = Array.from({ length: Math.max(0, ...lines.map((values) => values.length)) }, (_, index) =>
    lines.reduce<number | null>((most, values) => larger(most, values[index] ?? null), null),
  ).filter((value) => value !== null);
  const rising = [...steps].sort((one, other) => one - other);
  const largest = rising.at(-1) ?? 0;
  if (steps.length < LEAST_STEPS) return niceSeconds(largest);
  const apart = Math.max(1, Math.floor(steps.length / USUAL_PER_OUTLIER));
  const usual = Math.max(rising.at(-1 - apart) ?? 0, SECONDS[0] ?? 0);
  const isCut = largest > usual * OUTLIER && longestRun(steps, (value) => value > usual * OUTLIER) <= SIDE_BY_SIDE;
  return niceSeconds(isCut ? usual * 1.4 : largest);
}

const larger = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other);

function longestRun(values: readonly number[], is: (value: number) => boolean): number {
  let [longest, run] = [0, 0];
  for (const value of values) {
    run = is(value) ? run + 1 : 0;
    longest = Math.max(longest, run);
  }
  return longest;
}

const BARS_MAX = 72;
const BAR_SECS = [15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 10_800, 21_600, 43_200, 86_400];

/** Steps put together so that a bar is wide enough to see. */
export interface Bars {
  readonly from: number;
  readonly stepMs: number;
  /** The first bar of which all is there, and the first one after it of which not all is there yet. */
  readonly whole: Whole;
  readonly sums: (values: readonly number[]) => number[];
  /** Of times, the longest within each; null where there was none. */
  readonly longest: (values: readonly (number | null)[]) => (number | null)[];
}

export type Whole = readonly [first: number, end: number];

/** Bars begin at whole multiples of their length, so that one stays what it is while the plot moves on. */
export function barsOf(from: number, stepSecs: number, steps: number, now: number): Bars {
  const secs = BAR_SECS.find((bar) => bar % stepSecs === 0 && (steps * stepSecs) / bar <= BARS_MAX) ?? stepSecs;
  const stepMs = secs * 1000;
  const first = Math.floor(from / stepMs);
  const barOf = (index: number): number => Math.floor((from + index * stepSecs * 1000) / stepMs) - first;
  const count = steps === 0 ? 0 : barOf(steps - 1) + 1;
  // A bar is complete if the step after its last one would belong to another.
  const end = Math.min(count, barOf(wholeSteps(from, stepSecs, steps, now)));
  const sums = (values: readonly number[]): number[] => {
    const bars: number[] = [];
    values.forEach((value, index) => {
      bars[barOf(index)] = (bars[barOf(index)] ?? 0) + value;
    });
    return bars;
  };
  const longest = (values: readonly (number | null)[]): (number | null)[] => {
    const bars: (number | null)[] = [];
    values.forEach((value, index) => {
      bars[barOf(index)] = larger(bars[barOf(index)] ?? null, value);
    });
    return bars;
  };
  return { from: first * stepMs, stepMs, whole: [first * stepMs < from ? 1 : 0, end], sums, longest };
}
