import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BeatLoop } from '../../../src/worker/leases/beat-loop.js';
import { monotonicMs } from '../../../src/worker/clock.js';
import type { Beat, BeatAnswer } from '../../../src/worker/leases/heartbeat-calls.js';
import { LeaseCells, type Lease } from '../../../src/worker/leases/lease-cells.js';

const LEASE_MS = 400;
const loops: BeatLoop[] = [];
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] }));
afterEach(() => {
  loops.splice(0).forEach((loop) => loop.stop());
  vi.useRealTimers();
});

/** Lets time pass, a millisecond at a time, until the condition holds. */
async function until(holds: () => boolean): Promise<void> {
  for (let ms = 0; ms < 100 * LEASE_MS && !holds(); ms++) await vi.advanceTimersByTimeAsync(1);
  expect(holds()).toBe(true);
}

/** A keeper whose server answers what the test says. */
function begin(answer: (beat: Beat, round: number) => BeatAnswer) {
  const cells = new LeaseCells(4);
  cells.beatPulse(monotonicMs());
  const rounds: { at: number; beats: readonly Beat[] }[] = [];
  const lost: { lease: Lease; answer: BeatAnswer }[] = [];
  const loop = new BeatLoop({
    cells,
    leaseMs: LEASE_MS,
    send: async (beats) => {
      rounds.push({ at: monotonicMs(), beats });
      return beats.map((beat) => answer(beat, rounds.length));
    },
    onLost: (lease, why) => lost.push({ lease, answer: why }),
  });
  loops.push(loop);
  const hold = (cell: number, leftMs = LEASE_MS): Lease => {
    const deadlineMs = monotonicMs() + leftMs;
    const lease = cells.take(cell, deadlineMs, `job-${cell}`, `t${cell}`);
    loop.beatBy(deadlineMs - LEASE_MS / 2);
    return lease;
  };
  return { cells, loop, rounds, lost, hold };
}

describe('the keeper', () => {
  it('heartbeats everything in one call and moves the deadlines', async () => {
    const { cells, rounds, hold } = begin(() => 'running');
    const before = [hold(0), hold(1)].map(({ cell }) => cells.deadlineMs(cell));
    await until(() => rounds.length === 3);
    expect(rounds[0]?.beats.map(({ jobId }) => jobId)).toEqual(['job-0', 'job-1']);
    expect(cells.deadlineMs(0)).toBeGreaterThan(before[0]!);
    expect(cells.deadlineMs(0)).toBe(cells.deadlineMs(1));
  });

  it('forgets what was left, and beats for what has taken its cell', async () => {
    const { cells, rounds, hold } = begin(() => 'running');
    hold(0);
    hold(1);
    cells.leave(0);
    cells.leave(1);
    cells.take(1, monotonicMs() + LEASE_MS, 'another', 'its token');
    hold(2);
    await until(() => rounds.length === 1);
    expect(rounds[0]?.beats.map(({ jobId, token }) => [jobId, token])).toEqual([
      ['another', 'its token'],
      ['job-2', 't2'],
    ]);
  });

  it('beats for another job in the cell of one that was taken away', async () => {
    const { cells, rounds, hold } = begin(({ jobId }) => (jobId === 'job-0' ? 'cancelled' : 'running'));
    hold(0);
    await until(() => rounds.length === 1);
    cells.leave(0);
    cells.take(0, monotonicMs() + LEASE_MS, 'another', 'its token');
    await until(() => rounds.length === 2);
    expect(rounds[1]?.beats.map(({ jobId }) => jobId)).toEqual(['another']);
  });

  it('leaves a cell free for which an id is too long', () => {
    const { cells } = begin(() => 'running');
    expect(() => cells.take(0, monotonicMs() + LEASE_MS, 'x'.repeat(64), 't')).toThrow('too long');
    expect(cells.read(0)).toBeNull();
    const lease = cells.take(0, monotonicMs() + LEASE_MS, 'x'.repeat(63), 't');
    expect(cells.read(0)).toEqual(lease);
  });

  it('is told of a lease that it would look at too late, also while it is looking', async () => {
    let late: (() => void) | undefined;
    const { cells, rounds, hold } = begin(() => (late?.(), 'running'));
    const due = (leftMs: number): number => monotonicMs() + leftMs - LEASE_MS / 2;
    expect(cells.isRoundPlannedBy(due(LEASE_MS))).toBe(true);
    expect(cells.isRoundPlannedBy(due(LEASE_MS / 2))).toBe(false);
    late = () => {
      late = undefined;
      expect(cells.isRoundPlannedBy(due(LEASE_MS))).toBe(false);
      hold(1, LEASE_MS / 4);
    };
    hold(0);
    await until(() => rounds.length === 2);
    expect(rounds[1]!.at - rounds[0]!.at).toBeLessThan(LEASE_MS / 4);
    expect(rounds[1]?.beats.map(({ jobId }) => jobId)).toEqual(['job-0', 'job-1']);
  });

  it('tries again at once without an answer, then after a pause', async () => {
    const { rounds, hold } = begin((_, round) => (round <= 2 ? 'unanswered' : 'running'));
    hold(0);
    await until(() => rounds.length === 3);
    const [first, second, third] = rounds.map(({ at }) => at);
    expect(second! - first!).toBeLessThan(third! - second!);
  });

  it.each(['cancelled', 'completed', 'retrying', 'lease_lost', 'not_found'] as const)(
    'says when a job is %s, and beats for it no more',
    async (answer) => {
      const { rounds, lost, hold } = begin(({ jobId }) => (jobId === 'job-0' ? answer : 'running'));
      const lease = hold(0);
      hold(1);
      await until(() => rounds.length === 2);
      expect(lost).toEqual([{ lease, answer }]);
      expect(rounds[1]?.beats.map(({ jobId }) => jobId)).toEqual(['job-1']);
    },
  );

  it('beats at once for a lease that is half over when it arrives', async () => {
    const { rounds, hold } = begin(() => 'running');
    const start = monotonicMs();
    hold(0, LEASE_MS / 10);
    await until(() => rounds.length === 1);
    expect(rounds[0]!.at - start).toBeLessThan(LEASE_MS / 2);
  });

  it('sends progress before the next round, and once', async () => {
    const { loop, rounds, hold } = begin(() => 'running');
    const { cell, generation } = hold(0);
    hold(1);
    loop.progress(cell, generation, { done: 1 });
    await until(() => rounds.length === 2);
    expect(rounds[0]?.beats).toEqual([{ jobId: 'job-0', token: 't0', progress: { done: 1 } }]);
    expect(rounds[1]?.beats.map(({ progress }) => progress)).toEqual([undefined, undefined]);
  });

  it('leaves the jobs of a thread to others that has been silent for minutes', async () => {
    const silent = begin(() => 'running');
    silent.hold(0);
    silent.cells.beatPulse(monotonicMs() - 400_000);
    const witness = begin(() => 'running'); // began later, so its second round is after the first of the other
    witness.hold(0);
    await until(() => witness.rounds.length === 2);
    expect(silent.rounds).toEqual([]);
  });
});
