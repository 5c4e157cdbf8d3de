import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { hand, ok, step, workflowsOf } from './kit.js';

/** Times are only ever compared with each other. */
describe('a workflow of a thousand steps', async () => {
  const { a, worker } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const remote = hand(worker);
  const wide = Array.from({ length: 999 }, (_, n) => step(`n${n}`, ['first']));

  async function seconds(body: () => Promise<void>): Promise<number> {
    const begun = performance.now();
    await body();
    return (performance.now() - begun) / 1000;
  }

  it('is resumed from the first step in at most twice the time of starting it', async () => {
    // The quickest of ten each: what makes the others slower is what else the machine does.
    const [starts, resumes]: [number[], number[]] = [[], []];
    for (let round = 0; round < 10; round++) {
      let id = '';
      const started = await seconds(async () => {
        id = await workflows.create([step('first'), ...wide]);
        await remote.complete(id, 'first', { n: 1 });
      });
      await workflows.cancel(id);
      const resumed = await seconds(async () => {
        ok(await a.post(`/api/v1/workflows/${id}/resume`, { steps: ['first'] }));
        await remote.complete(id, 'first', { n: 2 });
      });
      const steps = await workflows.steps(id);
      expect(steps.filter((each) => each.job_id !== null)).toHaveLength(1000);
      await workflows.cancel(id);
      starts.push(started);
      resumes.push(resumed);
    }
    expect(Math.min(...resumes) / Math.min(...starts)).toBeLessThan(2);
  });
});
