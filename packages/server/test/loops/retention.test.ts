import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Maintenance } from '../../src/engine/jobs/maintenance.js';
import { createRetention } from '../../src/loops/retention.js';

interface Passing {
  readonly steps: number;
  readonly overdueSecs?: number;
  readonly failsAt?: number;
  readonly removed?: number;
}

/** Passes of as many steps as the test says, each of which waits to be let through where it says so. */
function stage(passes: readonly Passing[]) {
  const said: string[] = [];
  const messages: string[] = [];
  const lags: number[] = [];
  const gates: (() => void)[] = [];
  let begun = 0;
  let gated = false;
  const maintenance = {
    takeTurn: async () => true,
    forgetTraces: async () => undefined,
    keepTurn: async (_: string, secs: number) => void said.push(`rest ${Math.round(secs)}`),
    noteRetentionLag: (secs: number) => void lags.push(secs),
    beginRetentionPass: () => {
      const { steps, failsAt, overdueSecs = 0, removed = 0 } = passes[begun++]!;
      said.push('pass');
      let done = 0;
      let hasFailed = false;
      return {
        removed: { jobs: removed },
        overdueSecs,
        foundNothing: removed === 0,
        get isOver() {
          return done === steps;
        },
        step: async () => {
          if (gated) await new Promise<void>((resolve) => gates.push(resolve));
          if (done === failsAt && !hasFailed) {
            hasFailed = true;
            throw new Error('lost');
          }
          said.push(`step ${++done}`);
        },
      };
    },
  } as unknown as Maintenance;
  const logger = pino({}, { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) });
  const loop = createRetention(maintenance, 1, logger);
  return { loop, said, messages, lags, gates, hold: () => (gated = true) };
}

describe('the retention loop', () => {
  // How long it rests follows from how long the pass took, and here that is no time at all.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('makes one pass to its end, and rests at least until the next minute', async () => {
    const { loop, said } = stage([{ steps: 3 }]);
    await loop.runOnce();
    expect(said).toEqual(['pass', 'step 1', 'step 2', 'step 3', 'rest 5']);
  });

  it('goes on with the pass that failed', async () => {
    const { loop, said } = stage([{ steps: 3, failsAt: 1 }]);
    await expect(loop.runOnce()).rejects.toThrow('lost');
    await loop.runOnce();
    expect(said).toEqual(['pass', 'step 1', 'step 2', 'step 3', 'rest 5']);
  });

  it('gives way to a stop between two statements', async () => {
    const { loop, said, gates, hold } = stage([{ steps: 1_000 }]);
    hold();
    const run = loop.runOnce();
    while (gates.length === 0) await new Promise(setImmediate);
    const stopped = loop.stop();
    gates[0]!();
    await Promise.all([run, stopped]);
    expect(said).toEqual(['pass', 'step 1']);
  });

  it('says how late it is, and warns from the second pass on', async () => {
    const late = { steps: 1, removed: 5, overdueSecs: 7_200 };
    const { loop, messages, lags } = stage([late, late, { steps: 1 }]);
    const warning = 'retention does not keep up with what the service finishes';
    await loop.runOnce();
    expect(messages).not.toContain(warning);
    await loop.runOnce();
    expect(messages.filter((message) => message === warning)).toHaveLength(1);
    await loop.runOnce();
    expect(messages.filter((message) => message === warning)).toHaveLength(1);
    expect(lags).toEqual([7_200, 7_200, 0]);
  });
});
