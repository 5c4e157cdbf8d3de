import { performance } from 'node:perf_hooks';
import { holds, tookAbout, type Case, type Stage } from '../case.js';
import { clickToContent } from '../measure.js';

const STEPS = 1000;
const ACROSS = 25;
const DRAWN_MS = 1000;
const LIVE_UPDATES = 5;

/** A thousand steps with two thousand dependencies: drawn, and recoloured as they end. */
export const workflow: Case = {
  name: 'workflow',
  title: 'A workflow of 1000 steps',
  run: async (stage) => {
    const steps = Array.from({ length: STEPS }, (_, n) => ({
      name: `s${n}`,
      task_name: 't',
      queue: 'large-workflow',
      depends_on: n < ACROSS ? [] : [`s${n - ACROSS}`, `s${n - (n % ACROSS) - 1 - (n % 7)}`],
    }));
    const { workflow_id } = await stage.tenant.post<{ workflow_id: string }>('/workflows', { name: 'large', steps });
    const drawn: number[] = [];
    for (let round = 0; round < stage.options.rounds; round++) {
      const page = await stage.visit('/workflows?name=large');
      const link = `table[aria-label="Workflows"] [data-row] a[href*="${workflow_id}"]`;
      await page.locator(link).waitFor();
      drawn.push(await clickToContent(page, link, { selector: '.node', least: STEPS }));
      await page.context().close();
    }
    const { live, fields } = await updates(stage, workflow_id);
    return [
      tookAbout('Drawn, from the click in the list', drawn, DRAWN_MS),
      tookAbout('A step changes its colour, from the report of the worker', live, DRAWN_MS),
      holds('Only the steps that ended have changed', fields === LIVE_UPDATES),
    ];
  },
};

/** Ends a few steps and waits for each to change its colour; by the stream, which is faster than looking again. */
async function updates(stage: Stage, id: string): Promise<{ readonly live: number[]; readonly fields: number }> {
  const page = await stage.visit(`/workflows/${id}`);
  await page.getByText('live', { exact: true }).waitFor();
  const live: number[] = [];
  for (let n = 0; n < LIVE_UPDATES; n++) {
    const { jobs } = await stage.worker.post<Lease>('/queues/large-workflow/lease', { max_jobs: 1, wait_secs: 10 });
    const [leased] = jobs;
    if (leased === undefined) throw new Error('no step is ready');
    const step = leased.job.workflow_step_id;
    const reports = [{ job_id: leased.job.id, lease_token: leased.lease_token, outcome: 'completed' }];
    await stage.worker.post('/reports', { reports });
    const began = performance.now();
    await page.locator(`.node[data-step="${step}"][data-status="completed"]`).waitFor();
    live.push(performance.now() - began);
  }
  const fields = await page.locator('.node[data-status="completed"]').count();
  await page.context().close();
  return { live, fields };
}

interface Lease {
  readonly jobs: readonly {
    readonly lease_token: string;
    readonly job: { readonly id: string; readonly workflow_step_id: string };
  }[];
}
