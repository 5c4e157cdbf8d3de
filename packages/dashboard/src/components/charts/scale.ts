/** Ends of an axis of seconds that read well. */
const SECONDS = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 10, 20, 40, 60, 120, 240, 600, 1200, 1800, 3600, 7200, 14_400, 28_800,
  43_200, 86_400, 172_800, 345_600, 864_000, 1_728_000, 3_456_000,
];

/** The smallest of 1, 2, 4 times a power of ten that is not below the value, and of which half is a whole number. */
export function niceTop(value: number): number {
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 10].map((factor) => factor * power).find((candidate) => candidate >= value) ?? value;
}

const niceSeconds = (value: number): number => SECONDS.find((end) => end >= value) ?? value;

/** So much larger than nine in ten of the others, a value is an outlier. */
const OUTLIER = 8;

/**
 * The end of an axis of seconds. A lone value far above the others does not flatten them: the axis is cut, and whoever
 * draws marks what stands above its end.
 */
export function secondsTop(values: readonly number[]): number {
  const rising = [...values].sort((one, other) => one - other);
  const largest = rising.at(-1) ?? 0;
  const usual = Math.max(rising[Math.floor((rising.length - 1) * 0.9)] ?? 0, SECONDS[0] ?? 0);
  return niceSeconds(largest > usual * OUTLIER ? usual * 2 : largest);
}

const BARS_MAX = 72;
const BAR_SECS = [15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 10_800, 21_600, 43_200, 86_400];

/** Steps put together so that a bar is wide enough to see. */
export interface Bars {
  readonly from: number;
  readonly stepMs: number;
  readonly sums: (values: readonly number[]) => number[];
  /** Of times, the longest within each; null where there was none. */
  readonly longest: (values: readonly (number | null)[]) => (number | null)[];
}

/** Bars begin at whole multiples of their length, so that one stays what it is while the plot moves on. */
export function barsOf(from: number, stepSecs: number, steps: number): Bars {
  const secs = BAR_SECS.find((bar) => bar % stepSecs === 0 && (steps * stepSecs) / bar <= BARS_MAX) ?? stepSecs;
  const stepMs = secs * 1000;
  const first = Math.floor(from / stepMs);
  const barOf = (index: number): number => Math.floor((from + index * stepSecs * 1000) / stepMs) - first;
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
      const before = bars[barOf(index)] ?? null;
      bars[barOf(index)] = value === null ? before : Math.max(before ?? 0, value);
    });
    return bars;
  };
  return { from: first * stepMs, stepMs, sums, longest };
}
