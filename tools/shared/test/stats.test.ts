import { expect, it } from 'vitest';
import { median, quantile } from '../src/stats.js';

it.each([
  [[], NaN],
  [[7], 7],
  [[3, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toEqual(expected);
});

it.each([
  [0, 10],
  [0.5, 50],
  [0.51, 60],
  [0.99, 100],
  [1, 100],
])('a share of %d of ten values does not exceed %d', (share, expected) => {
  expect(quantile([30, 20, 10, 40, 50, 60, 70, 80, 90, 100], share)).toBe(expected);
  expect(quantile([], share)).toBeNaN();
});
