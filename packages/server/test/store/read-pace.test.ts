import { describe, expect, it } from 'vitest';
import { ReadPace, type ReadKind } from '../../src/store/read-pace.js';

const LARGE = 1024 * 1024;

/** With a clock that stands still unless the test moves it. */
function usePace() {
  let ms = 0;
  const pace = new ReadPace(() => ms);
  return {
    waitMs: (tenant: string, kind: ReadKind) => pace.waitMs(tenant, kind),
    /** Costly reads, one after the other, that took so long together. */
    spend: (tenant: string, kind: ReadKind, took: number) => {
      for (let left = took; left > 0; left -= 100) pace.spend(tenant, kind, Math.min(left, 100), LARGE);
    },
    pace,
    wait: (more: number) => void (ms += more),
  };
}

describe('the pace of costly reads', () => {
  it.each(['count', 'page'] as const)('lets a burst pass, then makes the tenant wait: %s', (kind) => {
    const { spend, waitMs } = usePace();
    spend('a', kind, 900);
    expect(waitMs('a', kind)).toBe(0);
    spend('a', kind, 900);
    expect(waitMs('a', kind)).toBeGreaterThan(1_000);
    expect(waitMs('b', kind)).toBe(0);
    expect(waitMs('a', kind === 'count' ? 'page' : 'count')).toBe(0);
  });

  it('is over when the wait is, and a burst is earned again after a while', () => {
    const { spend, waitMs, wait } = usePace();
    spend('a', 'count', 2_000);
    const rest = waitMs('a', 'count');
    wait(rest / 2);
    expect(waitMs('a', 'count')).toBeCloseTo(rest / 2);
    wait(rest / 2);
    expect(waitMs('a', 'count')).toBeCloseTo(0);
    wait(60_000);
    spend('a', 'count', 900);
    expect(waitMs('a', 'count')).toBe(0);
  });

  it('does not count what costs little, however many of them', () => {
    const { pace, waitMs } = usePace();
    for (let n = 0; n < 10_000; n++) {
      pace.spend('a', 'count', 4, 100);
      pace.spend('a', 'page', 50, 200 * 1024);
    }
    expect([waitMs('a', 'count'), waitMs('a', 'page')]).toEqual([0, 0]);
  });
});
