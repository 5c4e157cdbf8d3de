import { pino } from 'pino';
import { describe, expect, it, vi } from 'vitest';
import type { Round } from '../../src/engine/cron-firer.js';
import { createCronScheduler, MAX_SLEEP_MS, sleepAfter } from '../../src/loops/cron-scheduler.js';

const IDLE: Round = { due: 0, fired: 0, broken: [], waitMs: null };
const BROKEN = { id: 'x', error: new Error('no'), paused: false };

describe('how long it sleeps', () => {
  it.each([
    ['not at all after it fired, since there may be more', { ...IDLE, due: 1, fired: 1, waitMs: -5 }, 0],
    ['briefly when others are at it', { ...IDLE, due: 1, waitMs: -5 }, 25],
    ['until the next schedule is due, and not a millisecond less', { ...IDLE, waitMs: 300.2 }, 302],
    ['no longer than it takes to notice another process’s new schedule', { ...IDLE, waitMs: 86_400_000 }, 800],
    ['as long when there is no schedule', IDLE, MAX_SLEEP_MS],
    ['as long when all that is due is broken', { ...IDLE, due: 1, broken: [BROKEN], waitMs: -5 }, MAX_SLEEP_MS],
  ])('%s', (_, round, ms) => expect(sleepAfter(round)).toBe(ms));

  it('leaves a margin to fire within a second', () => expect(MAX_SLEEP_MS).toBeLessThanOrEqual(900));
});

describe('the loop', () => {
  it('wakes for each round as the one before says, goes on after a failure, and stops', async () => {
    vi.useFakeTimers();
    const rounds: (Round | Error)[] = [
      { ...IDLE, due: 2, fired: 2, waitMs: -1 },
      { ...IDLE, due: 1, waitMs: -1 },
      new Error('the database is away'),
      { ...IDLE, waitMs: 100 },
    ];
    const wokeAt: number[] = [];
    const startedAt = Date.now();
    const fireDue = async (): Promise<Round> => {
      wokeAt.push(Date.now() - startedAt);
      const round = rounds.shift() ?? IDLE;
      if (round instanceof Error) throw round;
      return round;
    };
    const loop = createCronScheduler({ fireDue }, pino({ level: 'silent' }));
    loop.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(wokeAt.slice(0, 5)).toEqual([0, 0, 25, 825, 926].map((ms, n) => ms + (n > 0 ? wokeAt[1]! : 0)));
    await loop.stop();
    const woken = wokeAt.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(wokeAt).toHaveLength(woken);
    vi.useRealTimers();
  });
});
