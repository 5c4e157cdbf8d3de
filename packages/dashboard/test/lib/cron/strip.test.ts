import { describe, expect, it } from 'vitest';
import { STRIP_MS, STRIP_SHARES, stripOf } from '../../../src/lib/cron/strip.js';

const NOW = Date.parse('2026-02-01T12:00:00Z');
const firing = (agoMs: number, kind: 'on_time' | 'catch_up' | 'triggered' = 'on_time') => ({
  fired_at: new Date(NOW - agoMs).toISOString(),
  kind,
  job_id: `job ${agoMs}`,
  workflow_id: null,
});
const HOUR = 3_600_000;

describe('the strip of the last 24 hours', () => {
  it('has a mark where the schedule fired, which leads to the job', () => {
    const { marks } = stripOf([firing(9 * HOUR)], true, NOW);
    expect(marks).toHaveLength(1);
    expect(marks[0]).toMatchObject({ at: 15 / 24, count: 1, kind: 'on_time', jobId: `job ${9 * HOUR}` });
  });

  it('leaves out what is older than a day, and keeps what fired just now', () => {
    const { marks } = stripOf([firing(-500), firing(STRIP_MS + 1)], true, NOW);
    expect(marks).toEqual([expect.objectContaining({ at: (STRIP_SHARES - 1) / STRIP_SHARES, count: 1 })]);
  });

  it('joins what is close together: the newest job, and the least ordinary kind', () => {
    const { marks } = stripOf([firing(60_000), firing(120_000, 'catch_up'), firing(180_000, 'triggered')], true, NOW);
    expect(marks).toEqual([expect.objectContaining({ count: 3, kind: 'catch_up', jobId: 'job 60000' })]);
  });

  it('never has more marks than shares', () => {
    const firings = Array.from({ length: 5000 }, (_, index) => firing(index * 20_000));
    expect(stripOf(firings, true, NOW).marks.length).toBeLessThanOrEqual(STRIP_SHARES);
  });

  it('says how far back it knows', () => {
    expect(stripOf([firing(HOUR), firing(6 * HOUR)], false, NOW).unknownTo).toBeCloseTo(0.75);
    expect(stripOf([firing(HOUR), firing(6 * HOUR)], true, NOW).unknownTo).toBe(0);
    expect(stripOf([firing(HOUR), firing(30 * HOUR)], false, NOW).unknownTo).toBe(0);
    expect(stripOf([], true, NOW)).toMatchObject({ marks: [], unknownTo: 0 });
  });
});
