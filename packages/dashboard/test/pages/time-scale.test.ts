import { describe, expect, test } from 'vitest';
import { timeScale } from '../../src/pages/job/time-scale.js';
import { marksOf } from '../../src/pages/job/timeline-rows.js';

describe('the line of time of a job', () => {
  test('is even where nothing is much longer than what ran', () => {
    const { at, cuts } = timeScale(0, 100, [
      [10, 50],
      [60, 100],
    ]);
    expect([0, 10, 55, 100, 200].map(at)).toEqual([0, 100, 550, 1000, 1000]);
    expect(cuts).toEqual([]);
  });

  test('does not cut a wait that is no longer than what ran', () => {
    const { at, cuts } = timeScale(0, 21, [[10, 21]]);
    expect(at(10)).toBeCloseTo(476, 0);
    expect(cuts).toEqual([]);
    expect(timeScale(0, 22, [[12, 22]]).cuts).toHaveLength(1);
  });

  test('cuts long waits, and keeps what ran to scale', () => {
    const hour = 3_600_000;
    const { at, cuts } = timeScale(0, hour + 3000, [
      [0, 1000],
      [hour + 1000, hour + 3000],
    ]);
    const [first, second] = [at(1000) - at(0), at(hour + 3000) - at(hour + 1000)];
    expect(second / first).toBeCloseTo(2);
    expect(first).toBeGreaterThan(200);
    expect(cuts).toEqual([{ from: at(1000), to: at(hour + 1000), ms: hour }]);
  });

  test('is even while nothing has run, and of no length at its beginning', () => {
    expect(timeScale(0, 1000, []).at(250)).toBe(250);
    expect(timeScale(5, 5, []).at(5)).toBe(0);
    expect(timeScale(5, 5, [[5, 5]]).cuts).toEqual([]);
  });

  test('takes attempts that overlap or lie outside as what they are', () => {
    const { at } = timeScale(100, 200, [
      [50, 150],
      [140, 260],
    ]);
    expect([100, 150, 200].map(at)).toEqual([0, 500, 1000]);
  });
});

describe('marks of log lines', () => {
  const line = (ms: number, level: 'info' | 'warn' | 'error') => ({
    attempt: 1,
    at: new Date(ms).toISOString(),
    level,
  });

  test('are bounded; the worst of what stands together counts; another clock says nothing', () => {
    const lines = Array.from({ length: 1000 }, (_, n) => line(n, n === 500 ? 'error' : 'info'));
    const marks = marksOf([...lines, line(50_000, 'warn')], 0, 1000);
    expect(marks.length).toBeLessThanOrEqual(61);
    expect(marks.filter(({ level }) => level === 'error')).toEqual([{ at: 500, level: 'error' }]);
    expect(marks.some(({ level }) => level === 'warn')).toBe(false);
  });
});
