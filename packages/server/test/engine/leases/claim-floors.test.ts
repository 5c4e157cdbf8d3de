import { describe, expect, it } from 'vitest';
import { ClaimFloors } from '../../../src/engine/leases/claim-floors.js';

/**
 * Where claims of a queue may start. Time stands still here, so what a real queue would show only now and then can be
 * said outright.
 */
const QUEUE = 'q';
const CLAIMED_MS = Date.parse('2030-01-01T00:00:10.000Z');
const CLAIMED = '2030-01-01T00:00:10.000Z';
const LOWEST = '1970-01-01T00:00:00.000Z';

/** A queue whose exact claim, at 0, took so long, and which has then been claimed up to an instant in priority 0. */
function slowQueue(tookMs = 20): ClaimFloors {
  const floors = new ClaimFloors();
  floors.exactClaimTook(QUEUE, 0, tookMs);
  floors.claimedUpTo(QUEUE, 0, CLAIMED_MS);
  return floors;
}

describe('claim floors', () => {
  it('are not used while exact claims are quick', () => {
    expect(new ClaimFloors().floorsFor(QUEUE, 1)).toBeNull();
    const floors = slowQueue();
    floors.exactClaimTook(QUEUE, 1, 1);
    floors.claimedUpTo(QUEUE, 0, CLAIMED_MS);
    expect(floors.floorsFor(QUEUE, 2)).toBeNull();
  });

  it('begin where the last claim ended, highest priority first', () => {
    const floors = slowQueue();
    floors.claimedUpTo(QUEUE, 7, CLAIMED_MS - 5_000);
    floors.claimedUpTo(QUEUE, 0, CLAIMED_MS - 1_000);
    floors.fellDueUpTo(QUEUE, CLAIMED_MS - 2_000);
    expect(floors.floorsFor(QUEUE, 1)).toEqual({
      priorities: [7, 0],
      since: ['2030-01-01T00:00:05.000Z', CLAIMED],
      later: '2030-01-01T00:00:08.000Z',
    });
    expect(floors.floorsFor('another', 1)).toBeNull();
  });

  it('step back by a margin once in a while, for what was committed late', () => {
    const floors = slowQueue();
    const starts = [10, 49, 50, 51, 99, 100].map((now) => floors.floorsFor(QUEUE, now)!.since[0]);
    const before = '2030-01-01T00:00:09.900Z';
    expect(starts).toEqual([CLAIMED, CLAIMED, before, CLAIMED, CLAIMED, before]);
  });

  it('leave that margin to claims when somebody only looks', () => {
    const floors = slowQueue();
    expect(floors.floorsForLook(QUEUE, 50)!.since).toEqual([CLAIMED]);
    expect(floors.floorsFor(QUEUE, 51)!.since).toEqual(['2030-01-01T00:00:09.900Z']);
    expect(floors.floorsForLook('another', 51)).toBeNull();
  });

  it.each([
    { tookMs: 20, exactAgainMs: 1_000 },
    { tookMs: 100, exactAgainMs: 2_500 },
    { tookMs: 60_000, exactAgainMs: 5_000 },
  ])('give way to an exact claim $exactAgainMs ms after one of $tookMs ms', ({ tookMs, exactAgainMs }) => {
    const floors = slowQueue(tookMs);
    expect(floors.floorsFor(QUEUE, exactAgainMs - 1)).not.toBeNull();
    expect(floors.floorsFor(QUEUE, exactAgainMs)).toBeNull();
  });

  it('are lowered by news of a job behind them, and open a priority that is new', () => {
    const floors = slowQueue();
    floors.heard(QUEUE, [
      { priority: 0, since: CLAIMED_MS - 3_600_000 },
      { priority: 3, since: null },
    ]);
    const lowered = '2029-12-31T23:00:10.000Z';
    expect(floors.floorsFor(QUEUE, 1)).toEqual({ priorities: [3, 0], since: [LOWEST, lowered], later: LOWEST });
  });

  it('are lowered likewise where jobs wait that were not due when they came', () => {
    const floors = slowQueue();
    floors.fellDueUpTo(QUEUE, CLAIMED_MS);
    floors.heard(QUEUE, [{ priority: 0, since: CLAIMED_MS - 1_000 }]);
    expect(floors.floorsFor(QUEUE, 1)?.later).toBe('2030-01-01T00:00:09.000Z');
  });

  it('open no priority for a job that is far from due', () => {
    const floors = slowQueue();
    floors.heard(QUEUE, [{ priority: 3, since: CLAIMED_MS + 60_000 }], CLAIMED_MS);
    expect(floors.floorsFor(QUEUE, 1)?.priorities).toEqual([0]);
  });

  it('are given up for a while when there are more than 64 floors', () => {
    const floors = slowQueue();
    for (let priority = 1; priority < 64; priority++) floors.claimedUpTo(QUEUE, priority, CLAIMED_MS);
    expect(floors.floorsFor(QUEUE, 1)?.priorities).toHaveLength(64);
    floors.claimedUpTo(QUEUE, 64, CLAIMED_MS);
    expect(floors.floorsFor(QUEUE, 2)).toBeNull();
    floors.exactClaimTook(QUEUE, 10, 20);
    floors.claimedUpTo(QUEUE, 5, CLAIMED_MS);
    expect(floors.floorsFor(QUEUE, 11), 'until the next exact claim is due').toBeNull();
    floors.exactClaimTook(QUEUE, 1_000, 20);
    floors.claimedUpTo(QUEUE, 5, CLAIMED_MS);
    expect(floors.floorsFor(QUEUE, 1_001)?.priorities).toEqual([5]);
  });

  it('are given up when the news does not say where to look', () => {
    const floors = slowQueue();
    floors.heard(QUEUE, []);
    expect(floors.floorsFor(QUEUE, 1)).toBeNull();
  });
});
