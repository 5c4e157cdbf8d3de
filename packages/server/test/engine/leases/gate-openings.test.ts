import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { GateOpenings } from '../../../src/engine/leases/gate-openings.js';
import { Hub } from '../../../src/engine/shared/hub.js';

describe('when claims of a queue that had no room are worth it again', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** A process that knows of two queues with limits, and what it has told of each: here, and to the others. */
  function begin() {
    const hub = new Hub();
    const told: string[] = [];
    const noNews = (): void => undefined;
    hub.connect({
      listening: true,
      publishWork: noNews,
      publishEvents: noNews,
      publishOpening: (queue) => void told.push(`${queue} elsewhere`),
    });
    hub.onAnyWork((queue, news) => void (news === null && told.push(`${queue} here`)));
    const openings = new GateOpenings(hub);
    for (const queue of ['full', 'other']) openings.know(queue, true);
    return { hub, openings, told };
  }

  it('is once a job of that queue has ended, told once for those that end together', async () => {
    const { hub, openings, told } = begin();
    openings.close('full', 1_000, performance.now());
    openings.close('other', 1_000, performance.now());
    for (let n = 0; n < 9; n++) hub.announceEnd('full');
    await vi.advanceTimersByTimeAsync(5);
    expect(told).toEqual(['full here', 'full elsewhere']);
    expect(openings.closedSecs('full')).toBe(0);
    expect(openings.closedSecs('other')).toBeGreaterThan(0);
  });

  it('is not when jobs of other queues end, nor when new jobs come', async () => {
    const { hub, openings, told } = begin();
    openings.close('full', 1_000, performance.now());
    for (let n = 0; n < 100; n++) {
      hub.announceEnd('plain');
      hub.announceWork('full', 0, null);
      hub.hear({ queues: new Map([['full', []]]), events: false, crons: null });
      await vi.advanceTimersByTimeAsync(5);
    }
    expect(told).toEqual([]);
    expect(openings.closedSecs('full')).toBeGreaterThan(0);
  });

  it('is after so long in any case, and never much later, since news may be lost', async () => {
    const { openings, told } = begin();
    openings.close('full', 1_000, performance.now());
    openings.close('other', 3_600_000, performance.now());
    await vi.advanceTimersByTimeAsync(999);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(told).toEqual(['full here']);
    await vi.advanceTimersByTimeAsync(4_000);
    expect(told).toEqual(['full here', 'other here']);
  });

  it('is when another process says so, and when its claim had begun before', () => {
    const { hub, openings } = begin();
    openings.close('full', 1_000, performance.now());
    const from = performance.now();
    hub.hear({ queues: new Map(), opened: ['full'], events: false, crons: null });
    expect(openings.closedSecs('full')).toBe(0);
    openings.close('full', 1_000, from);
    expect(openings.closedSecs('full')).toBe(0);
    openings.close('full', 1_000, from + 1);
    expect(openings.closedSecs('full')).toBeGreaterThan(0);
  });

  it('hears of no ends where nothing is counted any more, and keeps no timer once it has stopped', async () => {
    const { hub, openings, told } = begin();
    expect(hub.hearsEnds).toBe(true);
    openings.know('other', false);
    expect(hub.hearsEnds).toBe(true);
    openings.close('full', 1_000, performance.now());
    openings.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect([hub.hearsEnds, told, vi.getTimerCount()]).toEqual([false, [], 0]);
  });
});
