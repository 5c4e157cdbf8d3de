import { afterEach, expect, it, vi } from 'vitest';
import { beginOfSpan } from '../../src/lib/clock.js';

const HOUR_MS = 3_600_000;

afterEach(() => void vi.useRealTimers());

it('a span begins at a whole step of 15 s, and is never longer than it says', () => {
  const begins = new Set<string>();
  for (let second = 0; second < 60; second++) {
    const now = Date.parse('2026-01-31T09:00:00.250Z') + second * 1000;
    vi.useFakeTimers({ toFake: ['Date'], now });
    const begin = beginOfSpan(HOUR_MS);
    expect(Date.parse(begin)).toBeGreaterThanOrEqual(now - HOUR_MS);
    expect(Date.parse(begin)).toBeLessThan(now - HOUR_MS + 15_000);
    begins.add(begin);
  }
  // So that most polls of a minute ask the same question, and can be answered with 304.
  expect(begins.size).toBeLessThanOrEqual(5);
});
