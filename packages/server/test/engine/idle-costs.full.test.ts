import { describe, expect, it } from 'vitest';
import { until } from '../support/until.js';
import { ONCE_A_MINUTE, useCosts } from './cost-kit.js';

describe('the cost of', async () => {
  const { server, costOf } = await useCosts();

  it('doing nothing: at most two statements per second', async () => {
    const sweeps = async (): Promise<number> => {
      const text = await (await fetch(new URL('/metrics', server.metricsUrl))).text();
      return Number(/^millrace_sweep_seconds_count (\d+)$/m.exec(text)?.[1]);
    };
    const sweep = async (): Promise<void> => {
      const before = await sweeps();
      await until(async () => (await sweeps()) > before, { what: 'a sweep', everyMs: 250 });
    };
    await sweep();
    // Two of five seconds.
    const cost = await costOf(async () => {
      await sweep();
      await sweep();
    });
    // What is done once a minute may fall into them or not.
    expect(cost.once, cost.detail).toBeLessThanOrEqual(ONCE_A_MINUTE);
    expect(cost.statements, cost.detail).toBeLessThanOrEqual(0);
  });
});
