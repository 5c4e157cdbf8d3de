import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLimitsLoop, type LimitsWork } from '../../src/loops/limits.js';
import { Hub } from '../../src/engine/shared/hub.js';

/** What a pass finds to do, by parts of work that are left. */
interface Left {
  expired: number;
  unsorted: number;
  miscounted: number;
  inUse: boolean;
}

function begin(left: Left) {
  const did: string[] = [];
  const work = {
    hub: new Hub(),
    maintenance: { takeTurn: async () => true },
    mending: {
      get isOver() {
        return left.miscounted === 0;
      },
      begin: () => void (left.miscounted = 2),
      step: async () => {
        did.push('mending');
        left.miscounted--;
        return 1;
      },
    },
    expiry: {
      sweep: async () => {
        did.push('expiry');
        return --left.expired > 0;
      },
    },
    gates: {
      inUse: false,
      learn: async () => undefined,
      stop: async () => undefined,
      lines: {
        sweep: async () => {
          did.push('lines');
          return --left.unsorted > 0;
        },
      },
    },
    admitter: {
      sweep: async () => {
        did.push('sleepers and notes');
        const { expired, unsorted, inUse } = left;
        return { nextMs: null, inUse, expired: expired > 0, uniqueUsed: false, queuesLimited: unsorted > 0 };
      },
      dropUnused: async () => 0,
      stop: async () => undefined,
    },
  };
  const loop = createLimitsLoop(work as unknown as LimitsWork, pino({ level: 'silent' }));
  return { did, loop };
}

describe('the loop of limits', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('looks for sleepers and notes before each part of a long work, and goes on with that at once', async () => {
    const { did, loop } = begin({ expired: 3, unsorted: 2, miscounted: 0, inUse: true });
    loop.start();
    await vi.advanceTimersByTimeAsync(5);
    expect(did).toEqual([
      ...['sleepers and notes', 'lines', 'expiry', 'mending'],
      ...['sleepers and notes', 'lines', 'expiry', 'mending'],
      ...['sleepers and notes', 'expiry'],
    ]);
    await loop.stop();
  });

  it.each<[string, boolean, number]>([
    ['every second where there are limits, so that what a process left undone when it died is done by then', true, 1],
    ['every five seconds where there are none, well within the time in which jobs that have expired end', false, 5],
  ])('looks %s', async (_, inUse, secs) => {
    const { did, loop } = begin({ expired: 0, unsorted: 0, miscounted: 0, inUse });
    loop.start();
    await vi.advanceTimersByTimeAsync(5);
    const passes = (): number => did.filter((each) => each === 'sleepers and notes').length;
    const before = passes();
    await vi.advanceTimersByTimeAsync(secs * 1_000 - 10);
    expect(passes()).toBe(before);
    await vi.advanceTimersByTimeAsync(10);
    expect(passes()).toBe(before + 1);
    await loop.stop();
  });
});
