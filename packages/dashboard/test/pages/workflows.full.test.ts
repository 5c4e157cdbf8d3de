import type { Page } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { fetchWhole, hasBrowser, seriousFindings, useStage } from '../support/browser.js';
import { nextOf } from '../support/leases.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';

/** A character that stands for an icon, which would look another on each machine. */
const SYMBOL = /[\u2300-\u23ff\u25a0-\u27bf]/;

describe.skipIf(!hasBrowser)('workflows in the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  const create = async (definition: object | string): Promise<string> => {
    const reply = await server.a.post('/api/v1/workflows', definition);
    expect(reply.status, reply.text).toBe(201);
    return reply.body.workflow_id as string;
  };
  /** Leases the next step of the queue and ends it. */
  const runStep = async (queue: string, outcome: object): Promise<void> => {
    const { job, lease_token } = await nextOf(server.worker, queue);
    const report = { job_id: job.id, lease_token, ...outcome };
    const reply = await server.worker.post('/api/v1/reports', { reports: [report] });
    expect(reply.body.reports[0].ok, reply.text).toBe(true);
  };
  const box = (page: Page, step: string) => page.locator(`.node[data-step="${step}"]`);
  const becomes = (page: Page, step: string, status: string): Promise<void> =>
    page.locator(`.node[data-step="${step}"][data-status="${status}"]`).waitFor();

  const order = (queue: string): object => ({
    name: 'order',
    steps: [
      { name: 'reserve', task_name: 'reserve_stock', queue },
      { name: 'ship', task_name: 'ship_it', depends_on: ['reserve'], queue, config: { max_retries: 0 } },
      { name: 'mail', task_name: 'send_mail', depends_on: ['ship'], queue },
    ],
  });

  test('the list shows state and progress, and its filters stand in the address', async () => {
    const id = await create({ ...order('list'), name: 'listed' });
    await runStep('list', { outcome: 'completed' });
    const page = await stage.visit('/workflows');
    await page.getByLabel('Name').fill('listed');
    await page.getByLabel('Name').press('Enter');
    await page.getByLabel('State').selectOption('running');
    await page.waitForURL('**/ui/workflows?name=listed&status=running');
    const row = page.locator(`[data-row="${id}"]`);
    await row.getByText('1/3').waitFor();
    await row.getByText('running').waitFor();
    await page.reload();
    await row.getByRole('link', { name: 'listed' }).click();
    await page.getByRole('heading', { name: 'listed' }).waitFor();
    await page.goBack();
    expect(await page.getByLabel('Name').inputValue()).toBe('listed');
  });

  test('a workflow that failed shows the states of its steps, which of them failed and why', async () => {
    const id = await create({ ...order('states'), name: 'states' });
    await runStep('states', { outcome: 'failed', error: 'no stock left\nin any warehouse', retryable: false });
    const page = await stage.visit('/workflows?name=states');
    const row = page.locator(`[data-row="${id}"]`);
    await row.getByRole('img', { name: '1 failed, 2 cancelled' }).waitFor();
    await row.getByText('0/3').waitFor();
    await row.getByText('reserve: no stock left').waitFor();
    expect(await row.textContent()).not.toContain('warehouse');
    const part = (status: string) => row.locator(`.state-bar-track [data-status="${status}"]`);
    const colourOf = (status: string) => part(status).evaluate((each) => getComputedStyle(each).backgroundColor);
    expect(await colourOf('failed')).not.toBe(await colourOf('cancelled'));
    const wide = (status: string) => part(status).evaluate((each) => each.getBoundingClientRect().width);
    expect((await wide('cancelled')) / (await wide('failed'))).toBeCloseTo(2, 0);
    // It opens with what went wrong, without a click; and stays closed for whoever closes that.
    await row.getByRole('link', { name: 'states' }).click();
    await page.locator('.error-text').getByText('in any warehouse').waitFor();
    await page.locator('.node.selected[data-step="reserve"]').waitFor();
    // None will come.
    await page.locator('.step-texts section', { hasText: 'Result' }).getByText('none', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close the step' }).click();
    await page.locator('.error-text').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'reserve failed: no stock left' }).click();
    await page.locator('.error-text').waitFor();
  });

  test('a list of an earlier server, without the states of steps, shows how many ended', async () => {
    const id = await create({ ...order('older'), name: 'older' });
    const page = await stage.visit('/');
    await page.route(/\/api\/v1\/workflows\?/, async (route) => {
      const response = await fetchWhole(route);
      const json = (await response.json()) as { workflows: object[] };
      const workflows = json.workflows.map((row) => ({ ...row, steps_by_status: undefined, failed_step: undefined }));
      await route.fulfill({ response, json: { ...json, workflows } });
    });
    await page.goto(`${server.url}/ui/workflows?name=older`);
    await page.locator(`[data-row="${id}"]`).getByText('0/3').waitFor();
  });

  test('the graph is whole and in the middle, its controls beside it; the critical path can be shown', async () => {
    const id = await create(order('whole'));
    await runStep('whole', { outcome: 'completed' });
    await runStep('whole', { outcome: 'failed', error: 'no', retryable: false });
    const page = await stage.visit(`/workflows/${id}`);
    await becomes(page, 'ship', 'failed');
    const frame = page.locator('.graph-frame');
    const outer = (await frame.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    const boxes = await page.locator('.node').evaluateAll((all) => all.map((each) => each.getBoundingClientRect()));
    const [left, right] = [Math.min(...boxes.map((b) => b.left)), Math.max(...boxes.map((b) => b.right))];
    const [top, bottom] = [Math.min(...boxes.map((b) => b.top)), Math.max(...boxes.map((b) => b.bottom))];
    expect(Math.abs((left + right) / 2 - (outer.x + outer.width / 2))).toBeLessThan(3);
    expect(Math.abs((top + bottom) / 2 - (outer.y + outer.height / 2))).toBeLessThan(3);
    expect(right - left).toBeGreaterThan(outer.width / 2);
    expect(outer.height).toBeLessThan(260);
    const tools = (await page.getByRole('group', { name: 'Zoom' }).boundingBox()) ?? outer;
    expect(tools.y + tools.height).toBeLessThanOrEqual(outer.y);
    expect(await page.locator('.graph-map').count()).toBe(0);
    // Both lines of the step that failed: to it, and from it.
    const failedLines = await page
      .locator('.edge.failed')
      .evaluateAll((all) => all.map((each) => each.getAttribute('d')));
    expect(failedLines.join('').match(/M/g)).toHaveLength(2);

    const path = page.getByRole('button', { name: 'Critical path' });
    const opacity = (step: string) => box(page, step).evaluate((each) => getComputedStyle(each).opacity);
    expect(await opacity('mail')).toBe('1');
    await path.click();
    await page.waitForURL(/path=critical/);
    await expect.poll(async () => Number(await opacity('mail'))).toBeLessThan(0.5);
    expect([await opacity('reserve'), await opacity('ship')]).toEqual(['1', '1']);
    await path.click();
    await expect.poll(() => opacity('mail')).toBe('1');
  });

  test('steps that wait, are tried again or were skipped by a condition are told apart', async () => {
    const queue = 'rules';
    const id = await create({
      name: 'rules',
      context: { kind: 'small' },
      steps: [
        { name: 'ask', wait: { signal: 'approved', timeout_secs: 3_600 } },
        { name: 'large', task_name: 't', queue, when: { ref: { path: ['kind'] }, is: 'large' } },
        { name: 'try', task_name: 't', queue, config: { retry_delay_secs: 3_600, jitter_factor: 0 } },
      ],
    });
    await runStep(queue, { outcome: 'failed', error: 'not yet' });
    const page = await stage.visit(`/workflows/${id}`);
    await becomes(page, 'ask', 'awaiting');
    await becomes(page, 'large', 'unmet');
    await becomes(page, 'try', 'retrying');
    // Each has an icon of its own, the same in the graph and among the bars.
    const names = ['ask', 'large', 'try'];
    const icons = await Promise.all(names.map((name) => box(page, name).locator('.icon').getAttribute('d')));
    expect(new Set(icons).size).toBe(names.length);
    const bar = (name: string) => page.locator('.bars button', { hasText: new RegExp(`^ ?${name},`) });
    const ofBars = await Promise.all(names.map((name) => bar(name).locator('.icon path').getAttribute('d')));
    expect(ofBars).toEqual(icons);
    expect(await page.locator('main').textContent()).not.toMatch(SYMBOL);
    await box(page, 'large').click();
    await page.locator('.state').getByText('skipped: its condition did not hold').waitFor();
    await box(page, 'try').click();
    await page.getByText('next attempt').waitFor();
    await box(page, 'ask').click();
    await page.getByText('the signal approved').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('a workflow is followed live: boxes change, and where it hung is one click away', async () => {
    const id = await create(order('live'));
    const page = await stage.visit(`/workflows/${id}`);
    await page.getByText('live', { exact: true }).waitFor();
    await becomes(page, 'reserve', 'pending');
    await runStep('live', { outcome: 'completed', result: { reservation: 'r-7' } });
    await becomes(page, 'reserve', 'completed');
    await runStep('live', { outcome: 'failed', error: 'the truck is gone', retryable: false });
    await becomes(page, 'ship', 'failed');
    await becomes(page, 'mail', 'cancelled');
    await page.locator('.page-head').getByText('failed').waitFor();
    await page.getByText(/critical path/).waitFor();
    await box(page, 'ship').click();
    await page.locator('.error-text').getByText('the truck is gone').waitFor();
    expect(page.url()).toContain('step=ship');
    await page.reload();
    await page.locator('.error-text').getByText('the truck is gone').waitFor();
    await page.getByLabel('Context received').getByText('"r-7"').first().waitFor();
  });

  test('a failed workflow is resumed from any step, after saying what runs again, and followed on', async () => {
    const id = await create(order('resume'));
    await runStep('resume', { outcome: 'completed', result: { reservation: 'r-7' } });
    await runStep('resume', { outcome: 'failed', error: 'the truck is gone', retryable: false });
    const page = await stage.visit(`/workflows/${id}`);
    await page.getByRole('button', { name: 'Resume…' }).click();
    await page.getByText('2 steps will run again').waitFor();
    await page.keyboard.press('Escape');
    await box(page, 'reserve').click();
    await page.getByRole('button', { name: 'Resume from here…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('3 steps will run again').waitFor();
    expect(await dialog.locator('.resumed-steps li').allTextContents()).toEqual(['reserve', 'ship', 'mail']);
    await dialog.getByLabel(/Changes to the context/).fill('{"truck": [');
    expect(await dialog.getByRole('button', { name: 'Resume' }).isDisabled()).toBe(true);
    await dialog.getByLabel(/Changes to the context/).fill('{"truck": 2.50}');
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Workflow order resumed.').waitFor();
    await becomes(page, 'reserve', 'pending');
    await page.getByText('earlier jobs').waitFor();
    await runStep('resume', { outcome: 'completed' });
    await becomes(page, 'reserve', 'completed');
    await page.getByText('live', { exact: true }).waitFor();
    expect((await server.a.get(`/api/v1/workflows/${id}`)).text).toContain('"truck": 2.50');
  });

  test('what a step received and returned is shown to the byte', async () => {
    const exact = '{"account": 9007199254740993, "amount": 1.10, "tiny": 1E-7}';
    const id = await create(
      `{"name":"exact","context":${exact},"steps":[{"name":"one","task_name":"t","queue":"exact","payload":{"p":2.50}}]}`,
    );
    const { job, lease_token } = await nextOf(server.worker, 'exact');
    const result = '{"big": 9007199254740995, "zero": 0.00}';
    await server.worker.post(`/api/v1/jobs/${job.id}/complete`, `{"lease_token":"${lease_token}","result":${result}}`);
    const page = await stage.visit(`/workflows/${id}?step=one`);
    for (const text of ['9007199254740993', '1.10', '1E-7']) {
      await page.getByLabel('Context received').getByText(text, { exact: true }).waitFor();
    }
    for (const text of ['9007199254740995', '0.00']) {
      await page.getByLabel('Result').getByText(text, { exact: true }).waitFor();
    }
    const section = page.locator('.step-texts section', { has: page.getByRole('heading', { name: 'Result' }) });
    await section.getByRole('button', { name: 'Raw' }).click();
    expect(await section.locator('pre').textContent()).toBe(result);
  });

  test('cancelling is confirmed by name, and offers its curl', async () => {
    const id = await create({ ...order('cancel'), name: 'doomed' });
    const page = await stage.visit(`/workflows/${id}`);
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel doomed?' });
    await dialog.getByText('As curl').click();
    await dialog.getByText(`/api/v1/workflows/${id}/cancel`).waitFor();
    await dialog.getByRole('button', { name: 'Cancel the workflow' }).click();
    await dialog.waitFor({ state: 'detached' });
    await becomes(page, 'reserve', 'cancelled');
    expect((await server.a.get(`/api/v1/workflows/${id}`)).body.status).toBe('cancelled');
  });

  test('goes on by polling while its stream is cut', async () => {
    const id = await create(order('cut'));
    const page = await stage.visit('/workflows', { expected: /ERR_FAILED/ });
    await page.route('**/events', (route) => route.abort());
    await page.getByRole('link', { name: 'order' }).first().waitFor();
    await page.goto(`${server.url}/ui/workflows/${id}`);
    await becomes(page, 'reserve', 'pending');
    await runStep('cut', { outcome: 'completed' });
    await becomes(page, 'reserve', 'completed');
  });

  test('a thousand steps with two thousand dependencies are drawn, reached by key, and updated live', async () => {
    const steps = Array.from({ length: 1000 }, (_, n) => ({
      name: `s${n}`,
      task_name: 't',
      queue: 'large',
      depends_on: n < 25 ? [] : [`s${n - 25}`, `s${n - (n % 25) - 1 - (n % 7)}`],
    }));
    const id = await create({ name: 'large', steps });
    const page = await stage.visit(`/workflows/${id}`);
    await becomes(page, 's999', 'pending');
    expect(await page.locator('.node').count()).toBe(1000);
    // Read, not whole: with a map of the rest, which leads there.
    const frame = page.locator('.graph-frame');
    const inSight = (step: string) =>
      box(page, step).evaluate((each) => {
        const [own, around] = [each.getBoundingClientRect(), each.closest('.graph-frame')?.getBoundingClientRect()];
        return around !== undefined && own.left >= around.left && own.right <= around.right;
      });
    expect(await inSight('s0')).toBe(true);
    expect(await inSight('s999')).toBe(false);
    const map = page.locator('.graph-map');
    const { width = 0, height = 0 } = (await map.boundingBox()) ?? {};
    expect(height).toBeLessThan(100);
    await map.click({ position: { x: width - 2, y: height / 2 } });
    await expect.poll(() => inSight('s999')).toBe(true);
    await runStep('large', { outcome: 'completed' });
    await page.locator('.node[data-status="completed"]').waitFor();
    expect(await page.locator('.node[data-status="completed"]').count()).toBe(1);
    // What has started stands first among the bars.
    await page.locator('.bars button').first().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 's0', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Fit' }).click();
    await expect.poll(() => frame.evaluate((each) => each.scrollWidth <= each.clientWidth + 1)).toBe(true);
  });

  test('texts of tenants stay texts', async () => {
    const probe = `p ${PROBE}`;
    const id = await create({
      name: probe,
      context: { [probe]: probe },
      metadata: { [probe]: probe },
      steps: [{ name: probe, task_name: probe, queue: 'probe', config: { max_retries: 0 } }],
    });
    await runStep('probe', { outcome: 'failed', error: probe, retryable: false });
    const page = await stage.visit('/workflows');
    await page.getByRole('link', { name: probe }).first().click();
    await page.getByRole('heading', { name: probe }).first().waitFor();
    await page.locator('.node').click();
    await page.locator('.error-text').getByText(probe).waitFor();
    await page.getByLabel('Context received').waitFor();
    expect(await page.evaluate(() => (globalThis as { broken?: unknown }).broken)).toBeUndefined();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(id).toBeTruthy();
  });

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('axe finds nothing serious, %s, %i px', async (theme, width) => {
    const id = await create(order(`axe-${theme}`));
    await runStep(`axe-${theme}`, { outcome: 'completed', result: { ok: true } });
    const page = await stage.visit('/workflows', { theme, width });
    await page.getByRole('table', { name: 'Workflows' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.goto(`${server.url}/ui/workflows/${id}?step=reserve`);
    await page.getByLabel('Result').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  });
});
