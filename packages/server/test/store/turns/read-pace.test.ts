import { describe, expect, it } from 'vitest';
import { ReadPace, type ReadKind } from '../../../src/store/turns/read-pace.js';

/** With a clock that stands still unless the test moves it. */
function usePace() {
  let ms = 0;
  const pace = new ReadPace(() => ms);
  return {
    pace,
    /** Costly reads, one after the other, that took so long together; no count twice. */
    read: (tenant: string, kind: ReadKind, took: number) => {
      for (let left = took; left > 0; left -= 100) {
        if (kind === 'page') pace.pageTook(tenant, Math.min(left, 100), 1024 * 1024);
        else pace.countTook(tenant, `${tenant} ${left}`, Math.min(left, 100));
      }
    },
    wait: (more: number) => void (ms += more),
  };
}

describe('the pace of costly reads', () => {
  it.each([
    ['count', 5_000],
    ['page', 1_000],
  ] as const)('lets a burst pass, then makes the tenant wait: %s', (kind, burst) => {
    const { read, pace } = usePace();
    read('a', kind, 0.9 * burst);
    expect(pace.waitMs('a', kind)).toBe(0);
    read('a', kind, 0.9 * burst);
    expect(pace.waitMs('a', kind)).toBeGreaterThan(100);
    expect(pace.waitMs('b', kind)).toBe(0);
    expect(pace.waitMs('a', kind === 'count' ? 'page' : 'count')).toBe(0);
  });

  it('is over when the wait is, and a burst is earned again after a while', () => {
    const { read, pace, wait } = usePace();
    read('a', 'count', 7_000);
    const rest = pace.waitMs('a', 'count');
    wait(rest / 2);
    expect(pace.waitMs('a', 'count')).toBeCloseTo(rest / 2);
    wait(rest / 2);
    expect(pace.waitMs('a', 'count')).toBeCloseTo(0);
    wait(60_000);
    read('a', 'count', 4_500);
    expect(pace.waitMs('a', 'count')).toBe(0);
  });

  it('lets the same count rest sooner than its tenant', () => {
    const { pace } = usePace();
    for (let n = 0; n < 20; n++) pace.countTook('a', 'all jobs', 100);
    expect(pace.restMs('all jobs')).toBeGreaterThan(100);
    expect(pace.restMs('all that failed')).toBe(0);
    expect(pace.waitMs('a', 'count')).toBe(0);
  });

  it('never makes anybody wait long, whatever they have spent', () => {
    const { read, pace } = usePace();
    read('a', 'page', 60_000);
    read('a', 'count', 60_000);
    for (let n = 0; n < 600; n++) pace.countTook('a', 'all jobs', 100);
    expect([pace.waitMs('a', 'page'), pace.waitMs('a', 'count'), pace.restMs('all jobs')]).toEqual([500, 500, 500]);
  });

  it('does not count what costs little, however many of them', () => {
    const { pace } = usePace();
    for (let n = 0; n < 10_000; n++) {
      pace.countTook('a', 'all jobs', 4);
      pace.pageTook('a', 50, 200 * 1024);
    }
    expect([pace.waitMs('a', 'count'), pace.waitMs('a', 'page'), pace.restMs('all jobs')]).toEqual([0, 0, 0]);
  });
});
