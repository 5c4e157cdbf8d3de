import { afterEach, describe, expect, test } from 'vitest';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';

/** axe-core looks at every element of a page, several times over. */

describe.skipIf(!hasBrowser)('schedules in the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  const byName = async (name: string): Promise<any> =>
    (await server.a.get('/api/v1/cron?limit=100')).body.crons.find((cron: any) => cron.name === name);
  const put = async (name: string, body: object | string): Promise<string> => {
    const reply = await server.a.send('PUT', `/api/v1/cron/${encodeURIComponent(name)}`, { body });
    expect(reply.status, reply.text).toBe(201);
    return reply.body.cron_id as string;
  };

  test('a schedule is made with its words and its next five instants in view', async () => {
    const page = await stage.visit('/cron', { expected: /status of 400/ });
    await page.getByRole('button', { name: 'New schedule' }).click();
    const dialog = page.getByRole('dialog', { name: 'New schedule' });
    await dialog.getByLabel('Name').fill('nightly');
    await dialog.getByLabel('Task').fill('build_report');
    await dialog.getByLabel('Expression').fill('99 3 * * *');
    await dialog.locator('.preview-error').waitFor();
    await dialog.getByLabel('Expression').fill('30 9 * * 1-5');
    await dialog.getByLabel('Time zone').fill('Europe/Berlin');
    await dialog.getByText('At 09:30, Monday through Friday').waitFor();
    await expect.poll(() => dialog.locator('.preview li').count()).toBe(5);
    expect(await dialog.locator('.preview li').first().textContent()).toMatch(/, \d\d:\d\d:\d\d \S+$/);
    await dialog.getByLabel('Payload').fill('{"amount": 1.10');
    await dialog.getByText('The payload is not a JSON object yet.').waitFor();
    await dialog.getByLabel('Payload').fill('{"amount": 1.10, "id": 9007199254740993}');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForURL('**/ui/cron?name=nightly');
    await page.getByRole('heading', { name: 'nightly' }).waitFor();
    const { text } = await server.a.get('/api/v1/cron');
    expect(text).toContain('{"amount": 1.10, "id": 9007199254740993}');
    expect(await byName('nightly')).toMatchObject({ timezone: 'Europe/Berlin', task_name: 'build_report' });
  });

  test('an edit sends back what it did not change, to the byte', async () => {
    await put('edited', '{"cron_expr":"0 3 * * *","task_name":"t","payload":{"n":1.10},"config":{"max_retries":7}}');
    const page = await stage.visit('/cron?name=edited');
    await page.getByRole('button', { name: 'Edit…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit edited' });
    await dialog.getByLabel('Expression').fill('0 4 * * *');
    await dialog.getByText('At 04:00').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { text } = await server.a.get('/api/v1/cron?limit=100');
    expect(text).toContain('{"n":1.10}');
    expect(await byName('edited')).toMatchObject({ cron_expr: '0 4 * * *', config: { max_retries: 7 } });
  });

  test('a trigger makes a job, and its mark on the strip leads there', async () => {
    const id = await put('triggered', { cron_expr: '0 3 1 1 *', task_name: 'by-hand', queue: 'nobody' });
    const page = await stage.visit('/cron');
    await page.getByRole('button', { name: 'Trigger triggered' }).click();
    await page.getByRole('button', { name: 'Open job' }).waitFor();
    const { body } = await server.a.get(`/api/v1/cron/${id}/firings`);
    const mark = page.locator(`[data-row="${id}"] .strip-mark a`);
    await mark.waitFor();
    expect(await mark.getAttribute('aria-label')).toMatch(/fired once, by hand/);
    await mark.click();
    await page.waitForURL(`**/ui/jobs/${body.firings[0].job_id}`);
    await page.getByRole('heading', { name: 'by-hand' }).waitFor();
  });

  test('pausing happens at once and can be undone; deleting is confirmed by name', async () => {
    const id = await put('switched', { cron_expr: '0 3 * * *', task_name: 't' });
    const page = await stage.visit('/cron');
    const row = page.locator(`[data-row="${id}"]`);
    await row.getByRole('button', { name: 'Pause switched' }).click();
    await row.getByText('paused').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await row.getByRole('button', { name: 'Pause switched' }).waitFor();
    expect((await byName('switched')).enabled).toBe(true);
    await row.getByRole('button', { name: 'switched', exact: true }).click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete switched' }).click();
    await row.waitFor({ state: 'detached' });
    expect(await byName('switched')).toBeUndefined();
  });

  test('texts of tenants stay texts, and axe finds nothing serious', async () => {
    const name = `n ${PROBE}`;
    await put(name, { cron_expr: '* * * * *', task_name: PROBE, payload: { [PROBE]: PROBE } });
    for (const [theme, width] of [
      ['light', 1280],
      ['dark', 390],
    ] as const) {
      const page = await stage.visit(`/cron?name=${encodeURIComponent(name)}`, { theme, width });
      await page.getByRole('heading', { name }).waitFor();
      await page.getByText('It has never fired.').or(page.locator('.wide-strip .strip-mark').first()).waitFor();
      expect(await page.evaluate(() => (globalThis as { broken?: unknown }).broken)).toBeUndefined();
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    }
  });
});
