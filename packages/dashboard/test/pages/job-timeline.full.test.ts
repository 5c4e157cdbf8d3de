import type { Page } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { fetchWhole, hasBrowser, seriousFindings, useStage } from '../support/browser.js';
import { nextOf } from '../support/leases.js';

/** However long pages take to show what they should. */
const LEASE_SECS = 3600;

describe.skipIf(!hasBrowser)('the timeline of a job', async () => {
  const stage = await useStage();
  const { a, worker } = stage.server;
  afterEach(() => stage.quiet());

  const create = async (queue: string, fields: object = {}): Promise<string> => {
    const config = { queue, max_retries: 3, retry_delay_secs: 0, jitter_factor: 0 };
    const reply = await a.post('/api/v1/jobs', { task_name: 'render', config, ...fields });
    expect(reply.status, reply.text).toBe(201);
    return reply.body.job_id as string;
  };
  const lease = async (queue: string, worker_id: string): Promise<string> =>
    (await nextOf(worker, queue, { worker_id })).lease_token;
  const fail = (id: string, lease_token: string, error: string, line: number) =>
    worker.post(`/api/v1/jobs/${id}/fail`, {
      lease_token,
      error,
      details: { name: 'RenderError', stack: `RenderError\n    at encode (r.js:${line}:1)\n    at run (w.js:9:1)` },
    });
  const line = (page: Page, text: string | RegExp) =>
    page.getByRole('list', { name: 'What happened' }).getByRole('listitem').filter({ hasText: text });

  test('shows creation, each attempt as a bar with its worker, its log and progress, and the end', async () => {
    const id = await create('bars');
    const page = await stage.visit(`/jobs/${id}`);
    await line(page, 'created').waitFor();
    await fail(id, await lease('bars', 'render-a1'), 'disk full', 10);
    await line(page, '#1').getByText('failed').waitFor();
    const token = await lease('bars', 'render-b2');
    const logs = [{ at: new Date().toISOString(), level: 'warn', message: 'slow' }];
    const progress = { done: 250, total: 1000 };
    await worker.post(`/api/v1/jobs/${id}/heartbeat`, { lease_token: token, extend_secs: LEASE_SECS, progress, logs });
    const second = line(page, '#2');
    await second.getByRole('progressbar', { name: 'Progress of attempt 2: 250 of 1000' }).waitFor();
    await second.getByRole('button', { name: '1 log line' }).waitFor();
    for (const place of [line(page, '#1'), page.locator('.attempts')]) {
      const link = place.getByRole('link', { name: 'render-a1' });
      expect(await link.getAttribute('href')).toContain('/workers?worker=render-a1');
    }
    expect(await seriousFindings(page)).toEqual([]);
    await worker.post(`/api/v1/jobs/${id}/complete`, { lease_token: token });
    // A line of its own, below that of the attempt.
    await expect.poll(() => line(page, '').last().textContent()).toMatch(/^[^#]*completed/);
    const bars = page.locator('.timeline-run');
    expect(await bars.count()).toBe(2);
    // The attempt says who completed it, the job that nobody runs it.
    for (const place of [line(page, '#2'), page.locator('.attempts')]) {
      const link = place.getByRole('link', { name: 'render-b2' });
      expect(await link.getAttribute('href')).toContain('/workers?worker=render-b2');
    }
    expect(await page.locator('dl.facts dt').allTextContents()).not.toContain('worker');
    // One after the other, on the same line of time.
    const [first, then] = await bars.evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().left));
    expect(first).toBeLessThan(then ?? 0);
  });

  test('shows when a job became due that was created before', async () => {
    const id = await create('due', { delay_secs: 3600 });
    expect((await a.post(`/api/v1/jobs/${id}/run-now`)).status).toBe(204);
    await lease('due', 'w');
    const page = await stage.visit(`/jobs/${id}`);
    await line(page, '#1').waitFor();
    expect(await line(page, /^[^#]*due/).count()).toBe(1);
  });

  test('a job that was tried more than once did not wait for a worker before it was due', async () => {
    const id = await create('due-long-ago');
    // An hour after its creation, two minutes before its first attempt.
    const hour = 3_600_000;
    const at = (ms: number): string => new Date(Date.now() - ms).toISOString();
    const database = stage.server.database;
    await database.query('UPDATE millrace.jobs SET created_at = $2, run_at = $3 WHERE id = $1', [
      ...[id, at(hour + 120_000), at(120_000)],
    ]);
    for (const name of ['w-1', 'w-2']) await fail(id, await lease('due-long-ago', name), 'no', 1);
    const page = await stage.visit(`/jobs/${id}`);
    await line(page, '#2').waitFor();
    await line(page, /^[^#]*due/).waitFor();
    const waited = line(page, '#1').locator('.timeline-wait');
    expect(await waited.getAttribute('title')).toMatch(/^waited (2|3|4) min/);
  });

  test('progress is a bar where it can be one, and what was sent otherwise', async () => {
    const id = await create('progress');
    const token = await lease('progress', 'w');
    const page = await stage.visit(`/jobs/${id}`);
    const report = (progress: object) =>
      worker.post(`/api/v1/jobs/${id}/heartbeat`, { lease_token: token, extend_secs: LEASE_SECS, progress });
    await report({ percent: 40 });
    const bar = page.getByRole('progressbar', { name: 'Progress: 40 %' });
    await bar.waitFor();
    expect(await bar.getAttribute('value')).toBe('0.4');
    expect(await page.getByLabel('Progress', { exact: true }).count()).toBe(0);
    await report({ percent: 60, file: 'b.mp4' });
    await page.getByText('All that was reported').click();
    await page.getByLabel('Progress', { exact: true }).getByText('"b.mp4"').waitFor();
    await report({ step: 'upload' });
    await page.getByLabel('Progress', { exact: true }).getByText('"upload"').waitFor();
    expect(await page.getByRole('progressbar').count()).toBe(0);
  });

  test('two attempts are compared side by side, with what differs marked', async () => {
    const id = await create('compared');
    const page = await stage.visit(`/jobs/${id}`);
    await fail(id, await lease('compared', 'w-1'), 'disk full', 10);
    await line(page, '#1').waitFor();
    expect(await page.getByRole('button', { name: 'Compare' }).count()).toBe(0);
    await fail(id, await lease('compared', 'w-1'), 'out of memory', 20);
    await fail(id, await lease('compared', 'w-2'), 'out of memory', 20);
    await line(page, '#3').waitFor();
    await page.getByRole('button', { name: 'Compare' }).click();
    const table = page.locator('.compare');
    await table.getByText('out of memory').first().waitFor();
    expect(await table.locator('tr.differs th').allTextContents()).toContain('worker');
    expect(await table.locator('tr.differs th').allTextContents()).not.toContain('error');
    await page.getByLabel('One attempt').selectOption('1');
    await table.getByText('disk full').waitFor();
    expect(page.url()).toContain('compare=1%2C3');
    expect(await table.locator('tr.differs th').allTextContents()).toContain('error');
    expect(await table.getByLabel('Stack of attempt 1, compared').locator('.differs').allTextContents()).toEqual([
      '    at encode (r.js:10:1)\n',
    ]);
    expect(await seriousFindings(page)).toEqual([]);
    await page.reload();
    await page.getByLabel('One attempt').waitFor();
    expect(await page.getByLabel('One attempt').inputValue()).toBe('1');
  });

  test('many attempts are folded, and long waits drawn shorter', async () => {
    const id = await create('many', { config: { queue: 'many', max_retries: 20, retry_delay_secs: 0 } });
    for (let n = 1; n <= 9; n++) await fail(id, await lease('many', `w-${n}`), 'no', n);
    const page = await stage.visit(`/jobs/${id}`);
    await line(page, '#9').waitFor();
    expect(await line(page, '#5').count()).toBe(0);
    await page.getByRole('button', { name: 'Show 3 more attempts' }).click();
    await line(page, '#5').waitFor();
  });

  test('a job with a trace leads to it, where the operator has said where traces are', async () => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const id = await create('traced', { metadata: { traceparent: `00-${trace}-00f067aa0ba902b7-01` } });
    const page = await stage.visit('/jobs');
    let template: string | null = 'https://traces.example/{trace_id}?from=millrace';
    await page.route('**/api/v1/whoami', async (route) => {
      const answer = await fetchWhole(route);
      await route.fulfill({ response: answer, json: { ...(await answer.json()), trace_url: template } });
    });
    await page.goto(`${stage.server.url}/ui/jobs/${id}`);
    const link = page.getByRole('link', { name: 'Trace', exact: true });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe(`https://traces.example/${trace}?from=millrace`);
    expect(await link.getAttribute('rel')).toContain('noreferrer');
    for (template of ['javascript:alert(1)//{trace_id}', null]) {
      await page.reload();
      await page.getByRole('heading', { name: 'Metadata' }).waitFor();
      expect(await link.count()).toBe(0);
    }
  });

  test('the button that dismisses a dialog says so', async () => {
    const id = await create('dismissed', { delay_secs: 3600 });
    const page = await stage.visit(`/jobs/${id}`);
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const footer = page.getByRole('dialog').locator('footer');
    expect(await footer.getByRole('button').allTextContents()).toEqual(['Close', 'Cancel the job']);
    await footer.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Run now…' }).click();
    expect(await footer.getByRole('button').allTextContents()).toEqual(['Cancel', 'Run now']);
  });
});
