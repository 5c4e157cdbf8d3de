import { describe, expect, it } from 'vitest';
import { ONCE_A_MINUTE, useCosts, type Cost } from '../cost-kit.js';
import { hand, ok, step, workflowsOf } from './kit.js';

describe('a workflow of a thousand steps', async () => {
  const { a, worker, costOf } = await useCosts();
  const workflows = workflowsOf(a);
  const queue = 'wide';
  const remote = hand(worker, queue);
  const wide = Array.from({ length: 999 }, (_, n) => step(`n${n}`, ['first'], { queue }));

  async function ofBoth(): Promise<{ started: Cost; resumed: Cost }> {
    let id = '';
    const started = await costOf(async () => {
      id = await workflows.create([step('first', [], { queue }), ...wide]);
      await remote.complete(id, 'first', { n: 1 });
    });
    await workflows.cancel(id);
    const resumed = await costOf(async () => {
      ok(await a.post(`/api/v1/workflows/${id}/resume`, { steps: ['first'] }));
      await remote.complete(id, 'first', { n: 2 });
    });
    const steps = await workflows.steps(id);
    expect(steps.filter((each) => each.job_id !== null)).toHaveLength(1000);
    await workflows.cancel(id);
    return { started, resumed };
  }

  it('is resumed from the first step for at most twice what starting it costs', async () => {
    await ofBoth();
    const { started, resumed } = await ofBoth();
    expect(resumed.bytes, resumed.detail).toBeLessThan(2 * started.bytes);
    // Fourteen, and a few that the server runs anyway: not one for each step.
    expect(resumed.statements + resumed.once, resumed.detail).toBeLessThan(14 + ONCE_A_MINUTE);
  });
});
