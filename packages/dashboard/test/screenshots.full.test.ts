import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { until } from '../../server/test/support/until.js';
import { hasBrowser, useStage } from './support/browser.js';

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url));

/** Pictures for the README, made on request: `npm run screenshots`. */
const wanted = process.env.MILLRACE_SCREENSHOTS === '1' && hasBrowser;

describe.runIf(wanted)('pictures of the dashboard', async () => {
  const stage = await useStage();
  const { a, worker } = stage.server;

  test('the overview of a busy service', async () => {
    const jobs = (task_name: string, queue: string, count: number, fields = {}) =>
      a.post('/api/v1/jobs/batch', {
        jobs: Array.from({ length: count }, () => ({ task_name, config: { queue, max_retries: 0 }, ...fields })),
      });
    const work = async (queue: string, report: (job: number) => object): Promise<void> => {
      const { body } = await worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 100, worker_id: `${queue}-1` });
      const reports = (body.jobs as any[]).map(({ job, lease_token }, n) => ({
        job_id: job.id,
        lease_token,
        ...report(n),
      }));
      expect((await worker.post('/api/v1/reports', { reports })).status).toBe(200);
    };
    const refused = { outcome: 'failed', error: 'smtp: connection refused to 10.0.3.12:25', retryable: false };
    const completed = { outcome: 'completed', result: {} };
    for (const [name, schedule] of [
      ['nightly-report', '30 3 * * *'],
      ['sync-inventory', '*/10 * * * *'],
      ['digest', '0 7 * * 1-5'],
    ]) {
      await a.post('/api/v1/cron', { name, cron_expr: schedule, task_name: 'build_report' });
    }
    // Four steps of the plots, 15 seconds each.
    for (let step = 0; step < 4; step++) {
      await jobs('send_mail', 'mail', 90 - 12 * step);
      await jobs('resize_image', 'images', 40 + 9 * step);
      await jobs('deliver_webhook', 'webhooks', 30);
      await work('mail', (n) => (n % 11 === 5 ? refused : completed));
      await work('images', () => completed);
      await work('webhooks', () => completed);
      const written = async (): Promise<boolean> => {
        const { columns } = (await a.get('/api/v1/series')).body as { columns: { completed: number[] } };
        return columns.completed.filter((n) => n > 0).length > step;
      };
      await until(written, { what: 'the series to be written' });
    }
    await jobs('resize_image', 'images', 12);
    await jobs('send_mail', 'mail', 25, { delay_secs: 600 });
    await jobs('index_document', 'search', 42);
    const page = await stage.visit('/?span=15m');
    await page.getByRole('list', { name: 'Needs attention' }).waitFor();
    await page.getByRole('img', { name: /^Waiting time/ }).waitFor();
    await page.locator('.sparkline').first().waitFor();
    await page.setViewportSize({ width: 1280, height: 620 });
    await mkdir(IMAGES, { recursive: true });
    await page.screenshot({ path: `${IMAGES}overview.png` });
    await stage.quiet();
  });
});
