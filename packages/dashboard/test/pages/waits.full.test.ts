import { afterEach, describe, expect, test } from 'vitest';
import { checkpointsOf, store, suspend } from '../../../server/test/engine/durable/kit.js';
import { complete, createJob, leaseOne, newQueue, report } from '../../../server/test/engine/kit.js';
import { TENANT_A } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';
const READ_KEY = 'read-key-of-tenant-a-5c1e';
const HOUR = 3_600;

describe.skipIf(!hasBrowser)('durable jobs in the dashboard', async () => {
  const stage = await useStage({ config: { mode: 'api', readKeys: new Map([[READ_KEY, TENANT_A]]) } });
  const { a, worker } = stage.server;
  afterEach(() => stage.quiet());

  /** A job that has stored a charge and waits; without a key, for its own id. */
  async function waiting(task_name: string, fields: { key?: string; ask?: object }): Promise<[string, string]> {
    const queue = newQueue();
    const id = await createJob(a, queue, { task_name });
    const leased = await leaseOne(worker, queue);
    await store(worker, leased, 'find charge', { id: 'ch_1', cents: 12_000 });
    const { key, ask } = fields;
    const wait = { signal: { name: 'approval', ...(key !== undefined && { key }) }, ...(ask !== undefined && { ask }) };
    expect((await suspend(worker, leased, { checkpoint: 'approved?', delay_secs: HOUR, wait })).status).toBe(204);
    return [id, queue];
  }
  const answered = (id: string): Promise<unknown> =>
    until(async () => (await checkpointsOf(a, id))['approved?'] ?? 'no answer yet', { what: 'the answer' });

  test('a job shows what it has stored and asks, and a button answers it', async () => {
    const value = { approved: true, n: 1.1 };
    const ask = {
      text: 'Refund 120.00\nfor order-7?',
      choices: [
        { label: 'Approve', value },
        { label: 'Refuse', value: null },
      ],
    };
    const [id, queue] = await waiting('refund', { ask });
    const page = await stage.visit(`/jobs/${id}`);
    await page.getByRole('heading', { name: 'Waits for approval' }).waitFor();
    await page.getByText('Refund 120.00\nfor order-7?').waitFor();
    expect(await page.getByRole('button', { name: 'Run now…' }).count()).toBe(0);
    const stored = page.locator('.checkpoints > li');
    await stored.getByText('find charge').waitFor();
    await stored.getByText(/^took \d/).waitFor();
    expect(await page.getByLabel('Value of find charge').textContent()).toContain('"ch_1"');
    const moments = page.getByRole('list', { name: 'What happened' });
    await expect
      .poll(() => moments.textContent())
      .toMatch(/created.*#1 suspended.*find charge.*goes on without approval/);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Waits for approval' }).waitFor({ state: 'detached' });
    expect(await answered(id)).toEqual({ value });
    await stored.getByText('approved?').waitFor();
    await complete(worker, await leaseOne(worker, queue));
    await page.locator('.page-head').getByText('completed').waitFor();
  });

  test('a job without choices takes JSON, and one with a key is sent to that key', async () => {
    const [id] = await waiting('restock', { key: 'sku-7', ask: { text: 'How many?' } });
    const page = await stage.visit(`/jobs/${id}`);
    const field = page.getByLabel('Answer, as JSON');
    await field.fill('{"n":');
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    await field.fill('{"n":12345678901234567890}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('Sent approval').waitFor();
    await answered(id);
    expect((await a.get(`/api/v1/jobs/${id}/checkpoints`)).text).toContain('{"value":{"n":12345678901234567890}}');
  });

  test('a job that sleeps says until when, and can be woken', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue, { task_name: 'nap' });
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'grace', delay_secs: HOUR });
    const page = await stage.visit(`/jobs/${id}`);
    await page.getByRole('heading', { name: 'Asleep: grace' }).waitFor();
    await page.getByRole('button', { name: 'Run now…' }).click();
    await page.getByRole('button', { name: 'Run now', exact: true }).click();
    await page.getByRole('button', { name: 'Run now…' }).waitFor({ state: 'detached' });
    expect((await leaseOne(worker, queue)).job.id).toBe(id);
  });

  test('a job that waits for others shows them and their states', async () => {
    const [queue, below] = [newQueue(), newQueue()];
    const id = await createJob(a, queue, { task_name: 'parent' });
    const parent = await leaseOne(worker, queue);
    const child = (name: string) => ({ name, task_name: `child ${name}`, config: { queue: below } });
    await report(worker, 'children', parent, { jobs: [child('one'), child('two')] });
    await suspend(worker, parent, { checkpoint: 'all', delay_secs: HOUR, wait: { children: ['one', 'two'] } });
    await complete(worker, await leaseOne(worker, below));
    const page = await stage.visit(`/jobs/${id}`);
    await page.getByRole('heading', { name: 'Waits for 2 other jobs' }).waitFor();
    await page.getByText('1 of 2 have not').waitFor();
    expect(await page.getByRole('button', { name: 'Run now…' }).count()).toBe(0);
    const table = page.getByRole('table', { name: 'Children' });
    await table.getByText('completed').waitFor();
    await table.getByText('waiting').waitFor();
    await table.getByRole('link', { name: 'child two' }).click();
    await page.getByRole('heading', { name: 'child two' }).waitFor();
  });

  test('all questions are on one page, the newest first, and go when they are answered', async () => {
    const [silent] = await waiting('silent', {});
    const [first] = await waiting('first', { ask: { text: 'One?', choices: [{ label: 'Yes', value: 1 }] } });
    const [second] = await waiting('second', { ask: { text: 'Two?' } });
    const page = await stage.visit('/');
    await page.getByRole('link', { name: 'Waiting for you' }).click();
    await page.getByRole('heading', { name: 'Waiting for you' }).waitFor();
    const titles = page.locator('.waiting h2');
    await expect.poll(() => titles.allTextContents()).toEqual(['second', 'first']);
    expect(await page.getByText('silent').count()).toBe(0);
    await page.getByLabel('Answer, as JSON').fill('"half-typed');
    await page.getByRole('button', { name: 'Yes' }).click();
    await expect.poll(() => titles.allTextContents()).toEqual(['second']);
    expect(await answered(first)).toEqual({ value: 1 });
    expect(await page.getByLabel('Answer, as JSON').inputValue()).toBe('"half-typed');
    await page.getByRole('link', { name: 'second' }).click();
    await page.getByRole('heading', { name: 'Waits for approval' }).waitFor();
    for (const id of [silent, second]) await a.post(`/api/v1/jobs/${id}/cancel`);
  });

  test('a question that was answered elsewhere says so', async () => {
    const [id] = await waiting('late', { ask: { text: 'Late?', choices: [{ label: 'Yes', value: 1 }] } });
    const page = await stage.visit(`/jobs/${id}`, { expected: /status of 409/ });
    await page.getByRole('button', { name: 'Yes' }).waitFor();
    await page.route(`**/api/v1/jobs/${id}/signals/*`, async (route) => {
      await a.post(`/api/v1/jobs/${id}/cancel`);
      await route.continue();
    });
    await page.getByRole('button', { name: 'Yes' }).click();
    await page.getByText('the job is already cancelled').first().waitFor();
  });

  test('texts of tenants stay texts, readers see no buttons, and axe finds nothing serious', async () => {
    const ask = { text: PROBE, choices: [{ label: PROBE, value: PROBE }] };
    const [id] = await waiting('probe', { ask });
    for (const path of ['/waiting', `/jobs/${id}`]) {
      const page = await stage.visit(path);
      const question = page.locator('.answer').first();
      await question.waitFor();
      expect(await question.locator('.question').textContent()).toBe(PROBE);
      expect(await question.getByRole('group', { name: 'Answers' }).textContent()).toBe(PROBE);
      expect(await page.evaluate(() => 'broken' in globalThis)).toBe(false);
      expect(await seriousFindings(page)).toEqual([]);
      const reader = await stage.visit(path, { token: READ_KEY });
      await reader.locator('.question').first().waitFor();
      expect(await reader.getByRole('group', { name: 'Answers' }).count()).toBe(0);
      const narrow = await stage.visit(path, { width: 390 });
      await narrow.locator('.question').first().waitFor();
      expect(await narrow.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    }
  });
});
