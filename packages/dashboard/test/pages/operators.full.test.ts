import { afterEach, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN } from '../../../server/test/support/server.js';
import { fetchWhole, hasBrowser, seriousFindings, useStage } from '../support/browser.js';

describe.skipIf(!hasBrowser)('what operators see of tenants, and what they changed', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  test('the name of a tenant opens its pages for reading, and a band leads back', async () => {
    const { body } = await server.b.post('/api/v1/jobs', { task_name: 'theirs', config: { queue: 'nobody' } });
    const page = await stage.visit('/admin', { token: ADMIN_TOKEN, alone: true });
    const named: (string | undefined)[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/api/v1/')) named.push(request.headers()['millrace-tenant']);
    });
    await page.getByRole('table', { name: 'Tenants', exact: true }).getByRole('button', { name: 'tenant-b' }).click();
    const band = page.getByText('You are reading as tenant-b');
    await band.waitFor();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('link', { name: 'theirs' }).first().waitFor();
    expect(await page.getByRole('button', { name: 'New job' }).count()).toBe(0);
    await page.goto(`${server.url}/ui/jobs/${body.job_id}`);
    await page.getByRole('heading', { name: 'theirs' }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Run again/ }).count()).toBe(0);
    expect(named).toContain('tenant-b');
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Back to all tenants' }).click();
    await page.waitForURL('**/ui/admin');
    await band.waitFor({ state: 'detached' });
    await page.getByRole('table', { name: 'Tenants', exact: true }).waitFor();
  });

  test('what needs attention over all tenants leads to the pages of those whose work it is', async () => {
    await server.b.post('/api/v1/jobs', { task_name: 'work', config: { queue: 'late' } });
    await server.a.post('/api/v1/jobs', { task_name: 'work', config: { queue: 'stopped' } });
    await server.admin.post('/api/v1/admin/queues/stopped/pause', { reason: 'the provider is down' });
    const page = await stage.visit('/audit', { token: ADMIN_TOKEN, alone: true });
    await page.route('**/api/v1/admin/queues', async (route) => {
      const { queues } = (await (await fetchWhole(route)).json()) as { queues: { queue: string }[] };
      const own = queues.filter(({ queue }) => queue === 'late' || queue === 'stopped');
      const aged = own.map((row) => ({ ...row, ...(row.queue === 'late' && { oldest_pending_age_secs: 600 }) }));
      await route.fulfill({ json: { queues: aged } });
    });
    await page.getByRole('link', { name: 'All tenants' }).click();
    const lines = page.getByRole('list', { name: 'Needs attention' }).getByRole('listitem');
    const late = 'late: 1 job is due, for 10 min, and no worker asks for it';
    await lines.first().getByText(late).waitFor();
    await lines
      .last()
      .getByText(/^stopped: paused since .*: the provider is down \(admin\)$/)
      .waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await lines.last().getByRole('button', { name: 'Resume stopped' }).click();
    await expect.poll(() => lines.count()).toBe(1);
    await lines.getByRole('button', { name: 'tenant-b' }).click();
    await page.getByText('You are reading as tenant-b').waitFor();
    await page.waitForURL('**/ui/queues/late');
    await page.getByRole('heading', { name: 'late' }).waitFor();
  });

  test('what did this operator change: the log says who, when, what it was and what it is', async () => {
    await server.a.post('/api/v1/jobs', { task_name: 'work', config: { queue: 'held' } });
    await server.admin.post('/api/v1/admin/queues/held/pause', { reason: 'the provider is down' });
    await server.admin.send('PUT', '/api/v1/admin/queues/held', {
      body: { running: 3, rate: { count: 100, per_secs: 60, burst: 5 } },
    });
    const page = await stage.visit('/admin', { token: ADMIN_TOKEN, width: 390 });
    await page.getByRole('link', { name: 'Audit' }).click();
    const rows = page.getByRole('table', { name: 'Changes by operators' }).locator('[data-row]');
    const set = rows.filter({ hasText: 'set the limits of the queue held' });
    await set.getByText('admin', { exact: true }).waitFor();
    const changed = await set.locator('dl').textContent();
    expect(changed).toContain('none → 3');
    expect(changed).toContain('none → 100 per minute, up to 5 at once');
    await rows.filter({ hasText: 'paused the queue held' }).getByText('the provider is down').waitFor();
    await page.getByRole('combobox', { name: 'Operator' }).selectOption('admin');
    await page.waitForURL('**/ui/audit?by=admin');
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(await seriousFindings(page)).toEqual([]);
    // However much there is to say about the change, a name is not broken.
    await page.setViewportSize({ width: 1280, height: 900 });
    const linesOf = (name: string) =>
      set.getByText(name, { exact: true }).evaluate((each) => each.getClientRects().length);
    expect(await linesOf('admin')).toBe(1);
  });
});
