import type { Page } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';
import { nextOf } from '../support/leases.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1">';

describe.skipIf(!hasBrowser)('what the list of jobs shows and does', async () => {
  const stage = await useStage();
  const { a, worker, url } = stage.server;
  afterEach(() => stage.quiet());

  const create = async (queue: string, fields: object = {}): Promise<string> => {
    const reply = await a.post('/api/v1/jobs', { task_name: 'pack_parcel', config: { queue }, ...fields });
    expect(reply.status, reply.text).toBe(201);
    return reply.body.job_id as string;
  };
  const fail = async (queue: string, error: string): Promise<void> => {
    const { job, lease_token } = await nextOf(worker, queue);
    const reply = await worker.post(`/api/v1/jobs/${job.id}/fail`, { lease_token, error, retryable: false });
    expect(reply.status, reply.text).toBe(204);
  };
  const rows = (page: Page): Promise<string[]> =>
    page.locator('[data-row]').evaluateAll((all) => all.map((row) => row.getAttribute('data-row') ?? ''));
  const titles = (page: Page): Promise<string[]> => page.locator('.table thead th:not(.check)').allTextContents();
  const search = async (page: Page, label: string, text: string): Promise<void> => {
    await page.getByLabel(label, { exact: true }).fill(text);
    await page.getByLabel(label, { exact: true }).press('Enter');
  };

  test('columns are chosen, stand in the address, and are the same on the next visit', async () => {
    const queue = 'chosen';
    const id = await create(queue, { idempotency_key: 'order-71' });
    const page = await stage.visit(`/jobs?queue=${queue}`, { alone: true });
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    const idCell = page.locator(`[data-row="${id}"] a[title="${id}"].mono`);
    await idCell.waitFor();
    await page.getByText('Columns').click();
    await page.getByLabel('Id', { exact: true }).uncheck();
    await page.getByLabel('Key', { exact: true }).check();
    await expect.poll(() => titles(page)).toContain('Key');
    expect(await titles(page)).not.toContain('Id');
    expect(await idCell.count()).toBe(0);
    await page.getByText('order-71').waitFor();
    expect(page.url()).toContain('columns=');
    expect(await seriousFindings(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Key', { exact: true }).waitFor({ state: 'detached' });
    await page.goto(`${url}/ui/jobs?queue=${queue}`);
    await page.getByText('order-71').waitFor();
    await page.goto(`${url}/ui/jobs?queue=${queue}&columns=state,id,nonsense`);
    await expect.poll(() => titles(page)).toEqual(['State', 'Task', 'Id']);
  });

  test('jobs are found by the text of their error, and by a field of their metadata', async () => {
    const queue = 'searched';
    const refused = await create(queue);
    await fail(queue, 'smtp: connection REFUSED by 10.0.3.12');
    await create(queue);
    await fail(queue, 'disk full');
    const signup = await create(queue, { metadata: { source: 'signup', other: 'x' } });
    await create(queue, { metadata: { source: 'signup-2' } });
    const page = await stage.visit(`/jobs?queue=${queue}`);
    await search(page, 'Error text', 'refused by');
    await expect.poll(() => rows(page)).toEqual([refused]);
    expect(new URL(page.url()).searchParams.get('error')).toBe('refused by');
    await search(page, 'Error text', '');
    await search(page, 'Metadata', 'metadata.source=signup');
    await expect.poll(() => rows(page)).toEqual([signup]);
    expect(new URL(page.url()).searchParams.get('metadata.source')).toBe('signup');
    await page.reload();
    await expect.poll(() => rows(page)).toEqual([signup]);
    expect(await page.getByLabel('Metadata').inputValue()).toBe('source=signup');
    await search(page, 'Metadata', 'other=x');
    await expect.poll(() => new URL(page.url()).search).not.toContain('source');
    await expect.poll(() => rows(page)).toEqual([signup]);
    await search(page, 'Metadata', 'signup');
    await page.getByText('searched by one field and its whole value').waitFor();
  });

  test('a search that was cut says how far it came, and goes on', async () => {
    const queue = 'cut';
    const id = await create(queue);
    const page = await stage.visit('/jobs');
    const cursors: (string | null)[] = [];
    await page.route(/\/api\/v1\/jobs\?.*error=/, async (route) => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor');
      cursors.push(cursor);
      const found = (await a.get(`/api/v1/jobs?view=summary&queue=${queue}`)).body;
      const json =
        cursor === null
          ? { jobs: [], has_more: true, next_cursor: 'further', searched_to: '2026-01-31T09:12:00.123456Z' }
          : found;
      await route.fulfill({ json });
    });
    await search(page, 'Error text', 'refused');
    await page.getByText('Nothing found so far').waitFor();
    await page.getByText(/Searched back to 31 Jan 2026, 09:12:00\.123 UTC/).waitFor();
    await page.getByRole('button', { name: 'Search on' }).click();
    await expect.poll(() => rows(page)).toEqual([id]);
    expect(cursors).toContain('further');
    expect(await page.getByText('Searched back').count()).toBe(0);
  });

  test('a view is saved under a name, opened from the list and from its address, and forgotten', async () => {
    const queue = 'shelf';
    const id = await create(queue);
    await create('another');
    const page = await stage.visit(`/jobs?queue=${queue}&status=pending`, { alone: true });
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    await page.getByText('Views').click();
    await page.getByText('No views yet').waitFor();
    const name = `Parcels ${PROBE}`;
    await page.getByLabel('Name of the view').fill(name);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.page-head').getByText(name).waitFor();
    const saved = page.url();
    expect(new URL(saved).searchParams.get('view')).toBe(name);
    await page.getByLabel('State').selectOption('failed');
    await page.getByText(', changed').waitFor();

    await page.goto(`${url}/ui/jobs`);
    await page.getByText('Views').click();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('link', { name }).click();
    await expect.poll(() => rows(page)).toEqual([id]);
    expect(await page.getByLabel('Queue').inputValue()).toBe(queue);
    expect(await page.getByText(', changed').count()).toBe(0);

    // Whoever is given the address sees the same, by name, without having saved it.
    const elsewhere = await stage.visit(new URL(saved).pathname.replace('/ui', '') + new URL(saved).search, {
      alone: true,
    });
    await elsewhere.locator('.page-head').getByText(name).waitFor();
    await expect.poll(() => rows(elsewhere)).toEqual([id]);
    expect(await elsewhere.evaluate(() => 'broken' in window)).toBe(false);

    await page.getByText('Views').click();
    await page.getByRole('button', { name: `Forget ${name}` }).click();
    await page.getByText('No views yet').waitFor();
  });

  test.each(['Views', 'Columns'])('the menu %s is whole on a narrow screen', async (name) => {
    const page = await stage.visit('/jobs', { width: 390 });
    await page.locator('summary', { hasText: name }).click();
    const { x = -1, width = 0 } = (await page.locator('.drop-panel').boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(390);
  });

  test('jobs that wait are run now, after a dry run', async () => {
    const queue = 'later';
    const id = await create(queue, { delay_secs: 3600 });
    await create(queue);
    const page = await stage.visit(`/jobs?queue=${queue}`);
    await page.getByLabel(`Select ${id}`).check();
    expect(await page.getByRole('button', { name: 'Rerun…' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Run now…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Run jobs now' });
    await dialog.getByRole('button', { name: 'Run now 1 job' }).click();
    await page.waitForURL('**/ui/operations/*');
    await page.getByText('1 of 1 looked at, 1 changed').waitFor();
    const { scheduled_at } = (await a.get(`/api/v1/jobs/${id}`)).body;
    expect(Date.parse(scheduled_at)).toBeLessThan(Date.now() + 60_000);
  });

  test('jobs that ended are created anew, to the byte; those that failed are replayed', async () => {
    const queue = 'again';
    const payload = '{"big":9007199254740993,"price":1.10}';
    await a.post('/api/v1/jobs', `{"task_name":"exact","payload":${payload},"config":{"queue":"${queue}"}}`);
    await fail(queue, 'no');
    const page = await stage.visit(`/jobs?queue=${queue}&status=failed`);
    await page.getByLabel('Select all').check();
    expect(await page.getByRole('button', { name: 'Cancel…' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Rerun…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rerun 1 job' }).click();
    await page.getByText('1 of 1 looked at, 1 changed').waitFor();
    const copies = await a.get(`/api/v1/jobs?queue=${queue}&status=pending`);
    expect(copies.text).toContain(`"payload":${payload},`);
    expect(copies.body.jobs).toHaveLength(1);

    await page.goto(`${url}/ui/jobs?queue=${queue}&status=failed`);
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 1 job' }).click();
    await page.getByRole('heading', { name: 'Replay dead letters' }).waitFor();
    await page.getByText('1 of 1 looked at, 1 changed').waitFor();
    expect((await a.get(`/api/v1/dlq?queue_name=${queue}`)).body.dead_letters[0].replay_job_id).not.toBeNull();
    await page.goto(`${url}/ui/jobs?queue=${queue}&status=failed`);
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: 'Replay…' }).click();
    await page.getByText('None of these jobs has an open dead letter.').waitFor();
  });
});
