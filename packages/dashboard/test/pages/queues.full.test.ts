import { afterEach, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN } from '../../../server/test/support/server.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';

/** axe-core looks at every element of a page, several times over. */

describe.skipIf(!hasBrowser)('queues, workers and the view of operators in the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  const create = async (queue: string, task_name: string, priority = 0, client = server.a): Promise<string> => {
    const reply = await client.post('/api/v1/jobs', { task_name, config: { queue, priority } });
    expect(reply.status, reply.text).toBe(201);
    return reply.body.job_id as string;
  };

  test('who takes up a queue, and what runs next, are two clicks away', async () => {
    for (let n = 0; n < 3; n++) await create('inside', 'hog');
    const urgent = await create('inside', 'urgent', 9);
    await server.worker.post('/api/v1/queues/inside/lease', { max_jobs: 1, worker_id: 'worker-7' });
    const soon = await create('inside', 'soon', 5);
    const page = await stage.visit('/');
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    await page.getByRole('link', { name: 'inside' }).click();
    await page.getByRole('heading', { name: 'inside' }).waitFor();
    const hog = page.locator('.by-task li', { hasText: 'hog' });
    await hog.getByText(/^3 waiting, 0 running$/).waitFor();
    await page
      .locator('.by-task li', { hasText: 'urgent' })
      .getByText(/^0 waiting, 1 running$/)
      .waitFor();
    const next = page.getByRole('table', { name: 'Next jobs' }).locator('[data-row]');
    await expect.poll(() => next.first().getAttribute('data-row')).toBe(soon);
    expect(await next.count()).toBe(4);
    await page.getByText('a worker last asked').waitFor();
    await server.a.post(`/api/v1/jobs/${soon}/cancel`);
    await expect.poll(() => next.count()).toBe(3);
    await next.first().getByRole('link').click();
    await page.getByRole('heading', { name: 'hog' }).waitFor();
    expect(urgent).not.toBe(soon);
  });

  test('an operator sees all tenants, pauses a queue after a question, and resumes it', async () => {
    await create('held', 'work');
    await create('held', 'work', 0, server.b);
    // The pages of tenants are not theirs: whatever the address, nothing of those is asked for.
    const page = await stage.visit('/jobs', { token: ADMIN_TOKEN });
    await page.waitForURL('**/ui/admin');
    const row = page.locator('[data-row="held"]');
    await row.getByText('tenant-b').waitFor();
    await page.getByRole('table', { name: 'Tenants' }).locator('[data-row="tenant-a"]').waitFor();
    await row.getByRole('button', { name: 'Pause held' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause held?' });
    await dialog.getByText(/tenant-a, tenant-b|tenant-b, tenant-a/).waitFor();
    await dialog.getByRole('button', { name: 'Pause held' }).click();
    await row.getByText('paused').waitFor();
    expect((await server.worker.post('/api/v1/queues/held/lease', {})).body.jobs).toEqual([]);

    const tenant = await stage.visit('/queues/held');
    await tenant.locator('.page-head').getByText('paused').waitFor();
    await row.getByRole('button', { name: 'Resume held' }).click();
    await row.getByRole('button', { name: 'Pause held' }).waitFor();
    expect((await server.worker.post('/api/v1/queues/held/lease', {})).body.jobs).toHaveLength(1);
    await tenant.locator('.page-head').getByText('paused').waitFor({ state: 'detached' });
  });

  test('texts of tenants stay texts, and axe finds nothing serious', async () => {
    const queue = `q/${PROBE}`;
    await create(queue, PROBE);
    const path = `/queues/${encodeURIComponent(queue)}`;
    const visits = [
      ['/queues', 'light', 390, undefined],
      [path, 'dark', 1280, undefined],
      ['/workers', 'dark', 1280, undefined],
      ['/admin', 'light', 390, ADMIN_TOKEN],
    ] as const;
    for (const [address, theme, width, token] of visits) {
      const page = await stage.visit(address, { theme, width, ...(token && { token }) });
      if (address === '/workers') await page.getByRole('heading', { name: 'Workers' }).waitFor();
      else await page.getByText(queue).first().waitFor();
      expect(await page.evaluate(() => (globalThis as { broken?: unknown }).broken)).toBeUndefined();
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    }
  });
});
