import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LEAD_MS, LOOK_EVERY_MS, type Round } from '../../src/engine/crons/cron-firer.js';
import { Hub } from '../../src/engine/shared/hub.js';
import { createCronScheduler, sleepAfter, POLL_UNNOTIFIED_MS } from '../../src/loops/cron-scheduler.js';

const IDLE: Round = { nowMs: 1_000_000, due: 0, fired: 0, broken: [], waitMs: null };
const noNews = (): void => undefined;
const BROKEN = { id: 'x', error: new Error('no'), paused: false };

describe('how long it sleeps', () => {
  it.each([
    ['not at all after it fired, since there may be more', { ...IDLE, due: 1, fired: 1, waitMs: 5 }, 0],
    ['briefly when others are at it', { ...IDLE, due: 1, waitMs: 5 }, 25],
    ['until what is planned is due, and not a millisecond less', { ...IDLE, waitMs: 300.2 }, 302],
    ['until it is time to plan', { ...IDLE, waitMs: LEAD_MS + 1_000 }, 1_000],
    ['no longer than a clock may be set forward unnoticed', { ...IDLE, waitMs: 86_400_000 }, LOOK_EVERY_MS],
    ['as long when there is no schedule', IDLE, LOOK_EVERY_MS],
    ['less when all that is due is broken', { ...IDLE, due: 1, broken: [BROKEN], waitMs: null }, POLL_UNNOTIFIED_MS],
  ])('%s', (_, round, ms) => expect(sleepAfter(round, true)).toBe(ms));

  it('leaves a margin to fire within a second when no news arrives', () => {
    expect(sleepAfter(IDLE, false)).toBe(POLL_UNNOTIFIED_MS);
    expect(POLL_UNNOTIFIED_MS).toBeLessThanOrEqual(900);
  });
});

describe('the loop', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function begin(rounds: (Round | Error)[]) {
    const hub = new Hub();
    hub.connect({ listening: true, publishWork: noNews, publishOpening: noNews, publishEvents: noNews });
    const wokeAt: number[] = [];
    const startedAt = performance.now();
    const fireDue = async (): Promise<Round> => {
      wokeAt.push(Math.round(performance.now() - startedAt));
      const round = rounds.shift() ?? IDLE;
      if (round instanceof Error) throw round;
      return round;
    };
    const loop = createCronScheduler({ fireDue }, hub, pino({ level: 'silent' }));
    loop.start();
    return { hub, wokeAt, loop };
  }
  const hear = (hub: Hub, crons: number) => hub.hear({ queues: new Map(), events: false, crons });

  it('wakes for each round as the one before says, goes on after a failure, and stops', async () => {
    const { wokeAt, loop } = begin([
      { ...IDLE, due: 2, fired: 2, waitMs: 1 },
      { ...IDLE, due: 1, waitMs: 1 },
      new Error('the database is away'),
      { ...IDLE, waitMs: 100 },
    ]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(wokeAt).toEqual([0, 0, 25, 825, 926].map((ms, n) => ms + (n > 0 ? wokeAt[1]! : 0)));
    await loop.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(wokeAt).toHaveLength(5);
  });

  it('is woken by a schedule that is due before it would be up, and by no other', async () => {
    const { hub, wokeAt, loop } = begin([]);
    await vi.advanceTimersByTimeAsync(1_000);
    hear(hub, IDLE.nowMs + 5_001);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(wokeAt).toEqual([0]);
    hear(hub, IDLE.nowMs + 4_999);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(wokeAt).toEqual([0, 2_000]);
    // What was said while nobody listened may have been anything.
    hub.wakeAll();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(wokeAt).toEqual([0, 2_000, 3_000]);
    await loop.stop();
  });

  it('makes one look of much news in a row', async () => {
    const { hub, wokeAt, loop } = begin([]);
    for (let n = 0; n < 100; n++) {
      hear(hub, IDLE.nowMs + 500);
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(wokeAt.length).toBeLessThanOrEqual(6);
    await loop.stop();
  });
});
