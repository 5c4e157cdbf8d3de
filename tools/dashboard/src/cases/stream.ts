import { startProxy } from '@millrace/tools-shared';
import { performance } from 'node:perf_hooks';
import { holds, took, type Case } from '../case.js';

/** An event stream that is cut on the way, and taken up again by itself. */
export const stream: Case = {
  name: 'stream',
  title: 'An event stream that is cut',
  run: async (stage) => {
    const proxy = await startProxy(stage.service.url);
    const url = new URL(proxy.url).origin;
    try {
      const { workflow_id } = await stage.tenant.post<{ workflow_id: string }>('/workflows', {
        name: 'cut',
        steps: ['one', 'two', 'three'].map((name, n, all) => ({
          name,
          task_name: 't',
          queue: 'cut',
          depends_on: n === 0 ? [] : [all[n - 1]],
        })),
      });
      const end = async (): Promise<void> => {
        const { jobs } = await stage.worker.post<Lease>('/queues/cut/lease', { max_jobs: 1, wait_secs: 10 });
        const reports = jobs.map(({ job, lease_token }) => ({ job_id: job.id, lease_token, outcome: 'completed' }));
        await stage.worker.post('/reports', { reports });
      };
      const page = await stage.visit(`/workflows/${workflow_id}`, { url, expected: /ERR_|Failed to load/ });
      const live = page.getByText('live', { exact: true });
      const completed = (step: string) => page.locator(`.node[data-step="${step}"][data-status="completed"]`);
      await live.waitFor();
      await proxy.cut();
      await page.getByRole('alert').getByText('the server does not answer').waitFor();
      const isShown = await page.locator('.node').count();
      const pretends = await live.count();
      await end();
      await proxy.restore();
      const began = performance.now();
      await completed('one').waitFor();
      const caughtUpMs = performance.now() - began;
      await live.waitFor();
      const liveMs = performance.now() - began;
      await end();
      const ended = performance.now();
      await completed('two').waitFor();
      const againMs = performance.now() - ended;
      await page.context().close();
      return [
        holds('While it is cut, the page says so and keeps what it shows', isShown === 3 && pretends === 0),
        took('What happened meanwhile is shown, from the moment the way is free', caughtUpMs, 10_000),
        took('The stream is taken up again', liveMs, 15_000),
        took('The next change arrives by it', againMs, 1000),
      ];
    } finally {
      await proxy.close();
    }
  },
};

interface Lease {
  readonly jobs: readonly { readonly lease_token: string; readonly job: { readonly id: string } }[];
}
