import { performance } from 'node:perf_hooks';
import { holds, took, type Case } from '../case.js';

/** A database that goes away while a page is open, and comes back. */
export const outage: Case = {
  name: 'outage',
  title: 'A database that goes away and comes back',
  run: async (stage) => {
    const page = await stage.visit('/jobs?queue=mail', { expected: /status of 503/ });
    const rows = page.locator('table[aria-label="Jobs"] [data-row]');
    await rows.first().waitFor();
    const before = await rows.count();
    await stage.cluster.stop();
    const stoppedAt = performance.now();
    await page.getByRole('alert').getByText('unavailable').first().waitFor();
    const saidMs = performance.now() - stoppedAt;
    const kept = await rows.count();
    // Other pages open, say the same, and lead back.
    await page.locator('nav.menu a[href$="/queues"]').click();
    await page.getByRole('heading', { name: 'Queues' }).waitFor();
    await page.getByRole('alert').first().waitFor();
    await page.goBack();
    await rows.first().waitFor();
    const back = await rows.count();
    await stage.cluster.start();
    const startedAt = performance.now();
    await page.getByRole('alert').first().waitFor({ state: 'detached' });
    const recoveredMs = performance.now() - startedAt;
    const { job_id } = await stage.tenant.post<{ job_id: string }>('/jobs', {
      task_name: 'after-the-outage',
      config: { queue: 'mail' },
    });
    await page.getByRole('button', { name: /\d+\+? new/ }).click();
    await page.locator(`[data-row="${job_id}"]`).waitFor();
    await page.context().close();
    return [
      took('The page says so', saidMs, 15_000),
      holds('It keeps its rows, and other pages still open', before > 0 && kept === before && back === before),
      took('It recovers by itself, from the start of the database', recoveredMs, 30_000),
      holds('What is created afterwards appears', true),
    ];
  },
};
