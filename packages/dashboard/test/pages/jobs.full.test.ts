import type { Page } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { KEY_B } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';

/** However long pages take to show what they should. */
const LEASE_SECS = 3600;

describe.skipIf(!hasBrowser)('jobs in the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  const create = async (fields: object = {}): Promise<string> => {
    const reply = await server.a.post('/api/v1/jobs', { task_name: 'pack_parcel', ...fields });
    expect(reply.status, reply.text).toBe(201);
    return reply.body.job_id as string;
  };
  const lease = async (queue: string): Promise<{ id: string; token: string }> => {
    const { body } = await server.worker.post(`/api/v1/queues/${encodeURIComponent(queue)}/lease`, {
      worker_id: 'worker-7',
      lease_secs: LEASE_SECS,
    });
    return { id: body.jobs[0].job.id as string, token: body.jobs[0].lease_token as string };
  };
  const rows = (page: Page): Promise<string[]> =>
    page.locator('[data-row]').evaluateAll((all) => all.map((row) => row.getAttribute('data-row') ?? ''));

  test('filters stand in the address and survive reload, back and forward', async () => {
    const id = await create({ config: { queue: 'filters' }, idempotency_key: 'order-17' });
    await create({ task_name: 'other', config: { queue: 'filters-too' } });
    const page = await stage.visit('/jobs');
    await page.getByLabel('State').selectOption('waiting');
    await page.getByLabel('Queue').fill('filters');
    await page.getByLabel('Queue').press('Enter');
    await page.waitForURL('**/ui/jobs?status=waiting&queue=filters');
    await expect.poll(() => rows(page)).toEqual([id]);
    await page.reload();
    await page.getByRole('link', { name: 'pack_parcel' }).waitFor();
    expect(await page.getByLabel('Queue').inputValue()).toBe('filters');
    await page.goBack();
    await page.waitForURL('**/ui/jobs?status=waiting');
    await page.getByRole('link', { name: 'other' }).waitFor();
    await page.goForward();
    await page.waitForURL('**/ui/jobs?status=waiting&queue=filters');
    await page.goto(`${server.url}/ui/jobs`);
    await page.getByLabel('Id or key').fill('order-17');
    await page.getByLabel('Id or key').press('Enter');
    await page.waitForURL('**/ui/jobs?idempotency_key=order-17');
    await expect.poll(() => rows(page)).toEqual([id]);
  });

  test('rows stay where they are; new ones wait behind a button; a row changes in place', async () => {
    const queue = 'stays';
    const old = [await create({ config: { queue } }), await create({ config: { queue } })].reverse();
    const page = await stage.visit(`/jobs?queue=${queue}`);
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    expect(await rows(page)).toEqual(old);
    const fresh = [await create({ config: { queue } }), await create({ config: { queue } })].reverse();
    await page.getByRole('button', { name: '2 new' }).waitFor();
    await lease(queue);
    await page.locator('[data-row]').getByText('running').first().waitFor();
    expect(await rows(page)).toEqual(old);
    await page.getByRole('button', { name: '2 new' }).click();
    await expect.poll(() => rows(page)).toEqual([...fresh, ...old]);
    expect(await page.getByRole('button', { name: /new$/ }).count()).toBe(0);
  });

  test('the list is asked for while the code of the page is still being fetched', async () => {
    await create();
    const page = await stage.visit('/', { alone: true });
    const asked = page.waitForRequest(/\/api\/v1\/jobs\?view=summary/);
    await page.route(/\/assets\/jobs-page-/, async (route) => {
      await asked;
      await route.continue();
    });
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
  });

  test('a link in the list leads to its page, in another tab with the control key', async () => {
    const queue = 'links / 100 %';
    const id = await create({ config: { queue } });
    const page = await stage.visit(`/jobs?queue=${encodeURIComponent(queue)}`);
    const elsewhere = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'pack_parcel' }).click({ modifiers: ['Control'] });
    const tab = await elsewhere;
    await tab.waitForURL(`**/ui/jobs/${id}`);
    await tab.close();
    await page.getByRole('link', { name: queue }).click();
    await page.getByRole('heading', { name: queue }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: queue }).waitFor();
  });

  test('pages by cursor, and back', async () => {
    const queue = 'paged';
    const jobs = Array.from({ length: 60 }, (_, n) => ({ task_name: `n${n}`, config: { queue } }));
    await server.a.post('/api/v1/jobs/batch', { jobs });
    const page = await stage.visit(`/jobs?queue=${queue}`);
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    const first = await rows(page);
    expect(first).toHaveLength(50);
    // Whoever hears the page tells the two apart.
    await page.getByRole('navigation', { name: 'Pagination' }).getByRole('button', { name: 'Next' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Pages' }).count()).toBe(1);
    // What stands on buttons comes from the one set of icons, never from a font.
    for (const name of ['Newest', 'Previous', 'Next', 'live'])
      expect(await page.getByRole('button', { name, exact: true }).locator('.icon').count()).toBe(1);
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => rows(page)).toHaveLength(10);
    await page.reload();
    await expect.poll(() => rows(page)).toHaveLength(10);
    await page.getByRole('button', { name: 'Previous' }).click();
    await expect.poll(() => rows(page)).toEqual(first);
  });

  test('a job is followed live: waiting, running with progress, failed with its stack, replayed', async () => {
    const id = await create({ task_name: 'send_mail', config: { queue: 'followed', max_retries: 0 } });
    const page = await stage.visit(`/jobs/${id}`);
    await page
      .getByRole('status')
      .getByText(/worker/)
      .waitFor();
    const { token } = await lease('followed');
    await page.getByText('worker-7').first().waitFor();
    await page.getByText('lease ends in').waitFor();
    const extend = { lease_token: token, extend_secs: LEASE_SECS, progress: { sent: 3 } };
    await server.worker.post(`/api/v1/jobs/${id}/heartbeat`, extend);
    await page.getByRole('heading', { name: 'Progress' }).waitFor();
    const details = { name: 'SmtpError', stack: 'SmtpError: refused\n    at send (mail.js:1:2)' };
    await server.worker.post(`/api/v1/jobs/${id}/fail`, { lease_token: token, error: 'smtp: refused', details });
    await page.getByRole('list', { name: 'What happened' }).getByText('dead letter').waitFor();
    await page.getByText('smtp: refused').waitFor();
    await page.getByText('at send (mail.js:1:2)').waitFor();

    await page.getByRole('button', { name: 'Replay…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('As curl').click();
    expect(await dialog.getByLabel('Command').textContent()).toMatch(
      /^curl -sS -X POST '.*\/api\/v1\/dlq\/\d+\/replay'/,
    );
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await page.getByText('Replay of').waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'Replayed: open' }).waitFor();
  });

  test('what handlers wrote is shown as it was written, and only that', async () => {
    const id = await create({ config: { queue: 'logs' } });
    const { token } = await lease('logs');
    const page = await stage.visit(`/jobs/${id}`);
    const beat = (fields: string, message = PROBE) =>
      server.worker.post(
        `/api/v1/jobs/${id}/heartbeat`,
        `{"lease_token":"${token}","extend_secs":${LEASE_SECS},"logs":[{"at":"2026-01-31T09:00:00Z","level":"warn",` +
          `"message":${JSON.stringify(message)},"fields":${fields}}]}`,
      );
    expect((await beat('{"part": 9007199254740993, "price": 1.10}')).status).toBe(200);
    const log = page.getByRole('list', { name: 'Log' });
    await log.getByText(PROBE).waitFor();
    // To the byte, as everything that comes from tenants.
    await log.getByText('{"part": 9007199254740993, "price": 1.10}').waitFor();
    await log.getByText('#1 warn').waitFor();
  });

  test('a new job of a task that no server process knows is pointed to the queues that it was on', async () => {
    await create({ task_name: 'thumbnail', config: { queue: 'images' } });
    const page = await stage.visit('/jobs');
    await page.getByRole('button', { name: 'New job' }).click();
    const dialog = page.getByRole('dialog', { name: 'New job' });
    await dialog.getByLabel('Task').fill('thumbnail');
    await dialog.getByLabel('Task').blur();
    await dialog.getByText('No server process has registered the task thumbnail').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'images' }).click();
    expect(await dialog.getByLabel('Queue').inputValue()).toBe('images');
    await dialog.getByText('No server process').waitFor({ state: 'detached' });
    await dialog.getByLabel('Queue').fill('');
    await dialog.getByLabel('Task').fill('echo');
    await dialog.getByLabel('Task').blur();
    await dialog.getByText('No server process').waitFor({ state: 'detached' });
  });

  test('a log of many pages is shown to its end, and followed while the job runs', async () => {
    const id = await create({ config: { queue: 'long-log' } });
    const { token } = await lease('long-log');
    const path = `/api/v1/jobs/${id}/heartbeat`;
    const write = async (from: number, count: number): Promise<void> => {
      const line = (n: number) => ({ at: '2026-01-31T09:00:00Z', level: 'info', message: `n${n}` });
      const logs = Array.from({ length: count }, (_, n) => line(from + n));
      const beat = { lease_token: token, extend_secs: LEASE_SECS, logs };
      expect((await server.worker.post(path, beat)).status).toBe(200);
    };
    for (let n = 0; n < 1_100; n += 100) await write(n, 100);
    const page = await stage.visit(`/jobs/${id}`);
    const log = page.getByRole('list', { name: 'Log' });
    await log.getByText('n1099', { exact: true }).waitFor();
    await page.getByText('1,100 lines').waitFor();
    const isAtEnd = (): Promise<boolean> =>
      log.evaluate((list) => list.scrollTop + list.clientHeight >= list.scrollHeight - 8);
    await expect.poll(isAtEnd).toBe(true);
    await write(2_000, 5);
    await log.getByText('n2004', { exact: true }).waitFor();
    await expect.poll(isAtEnd).toBe(true);
    // Whoever reads further up is left there.
    await log.evaluate((list) => {
      list.scrollTop = 0;
    });
    await write(3_000, 5);
    await page.getByText('1,110 lines').waitFor();
    expect(await log.evaluate((list) => list.scrollTop)).toBe(0);
    expect(await log.getByRole('listitem').count()).toBe(1_110);
    expect(await seriousFindings(page)).toEqual([]);
    const done = { lease_token: token, logs: [{ at: '2026-01-31T09:00:01Z', level: 'error', message: 'the last' }] };
    await server.worker.post(`/api/v1/jobs/${id}/complete`, done);
    await log.getByText('the last').waitFor();
  });

  test('numbers that no JavaScript number holds are shown, and run again, to the byte', async () => {
    const payload = '{"big":9007199254740993,"price":1.10,"huge":1e400}';
    const body = `{"task_name":"exact","payload":${payload},"config":{"queue":"exact"}}`;
    const id = (await server.a.post('/api/v1/jobs', body)).body.job_id as string;
    const page = await stage.visit(`/jobs/${id}`);
    const shown = page.getByLabel('Payload');
    await shown.getByText('9007199254740993').waitFor();
    await shown.getByText('1.10').waitFor();
    await shown.getByText('1e400').waitFor();

    await page.getByRole('button', { name: 'Run again' }).click();
    await page.getByRole('button', { name: 'Open' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(id));
    await page.getByText('Copy of').waitFor();
    const copy = await server.a.get(`/api/v1/jobs/${page.url().split('/').at(-1)}`);
    expect(copy.text).toContain(`"payload":${payload},`);

    await page.goto(`${server.url}/ui/jobs?new=1`);
    const dialog = page.getByRole('dialog', { name: 'New job' });
    await dialog.getByLabel('Task').fill('exact');
    await dialog.getByLabel('Queue').fill('exact');
    await dialog.getByLabel('Payload').fill(payload);
    await dialog.getByRole('button', { name: 'Create job' }).click();
    await page.waitForURL(/\/ui\/jobs\/[0-9a-f-]{36}$/);
    const made = await server.a.get(`/api/v1/jobs/${page.url().split('/').at(-1)}`);
    expect(made.text).toContain(`"payload":${payload},`);
  });

  test('texts of tenants stay texts', async () => {
    const job = {
      task_name: PROBE,
      payload: { [PROBE]: PROBE },
      metadata: { [PROBE]: [PROBE] },
      idempotency_key: PROBE,
      config: { queue: PROBE, max_retries: 0 },
    };
    // Of a tenant without others: the overview shows only the three worst things.
    const { body } = await server.b.post('/api/v1/jobs', job);
    const id = body.job_id as string;
    const { token } = await lease(PROBE);
    const report = { lease_token: token, error: PROBE, details: { name: PROBE, stack: PROBE } };
    await server.worker.post(`/api/v1/jobs/${id}/fail`, report);
    const page = await stage.visit(`/jobs/${id}`, { token: KEY_B });
    await page.getByRole('heading', { name: PROBE }).waitFor();
    await page.getByLabel('Stack of attempt 1').getByText(PROBE).waitFor();
    expect(await unbroken(page)).toBe(true);
    for (const path of ['/', '/jobs']) {
      await page.goto(`${server.url}/ui${path}`);
      await page.getByText(PROBE).first().waitFor();
      expect(await unbroken(page)).toBe(true);
    }
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Id, key or name' }).fill(PROBE);
    await page.getByRole('option', { name: PROBE }).first().waitFor();
    expect(await unbroken(page)).toBe(true);
  });

  const unbroken = (page: Page): Promise<boolean> =>
    page.evaluate(() => !('broken' in window) && document.querySelector('main img, main script, dialog img') === null);

  test('cancels everything that matches, after a dry run and the typed number', async () => {
    const queue = 'bulk';
    const jobs = Array.from({ length: 130 }, () => ({ task_name: 'many', config: { queue } }));
    await server.a.post('/api/v1/jobs/batch', { jobs });
    const page = await stage.visit(`/jobs?queue=${queue}&status=pending`);
    await page.getByLabel('Select all').check();
    await page.getByText('50 jobs selected').waitFor();
    await page.getByRole('button', { name: 'Select all 130 that match' }).click();
    await page.getByText('All that match are selected: 130').waitFor();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel jobs' });
    const button = dialog.getByRole('button', { name: 'Cancel 130 jobs' });
    await button.waitFor();
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel(/Type/).fill('130');
    await button.click();
    await page.waitForURL('**/ui/operations/*');
    await page.getByText('130 of 130 looked at, 130 changed, 0 needed no change.').waitFor();
    await page.getByRole('link', { name: 'Operations' }).click();
    await page.getByRole('link', { name: 'Cancel jobs' }).waitFor();
    expect((await server.a.get(`/api/v1/jobs?queue=${queue}&status=cancelled&include_total=true`)).body.total).toBe(
      130,
    );
  });

  test('goes on where the server could not count what matches in time', async () => {
    const queue = 'uncounted';
    const id = await create({ config: { queue } });
    const page = await stage.visit(`/jobs?queue=${queue}&status=pending`);
    await page.route('**/api/v1/operations', (route) =>
      (route.request().postDataJSON() as { dry_run?: boolean }).dry_run === true
        ? route.fulfill({ json: { matched: { n: 0, exact: false }, sample: [] } })
        : route.continue(),
    );
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: 'Select all that match' }).click();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel jobs' });
    await dialog.getByText('the number of matching jobs is unknown').waitFor();
    await dialog.getByLabel(/Type/).fill('all');
    await dialog.getByRole('button', { name: 'Cancel all that match' }).click();
    await page.getByText('1 of 1 looked at, 1 changed').waitFor();
    expect((await server.a.get(`/api/v1/jobs/${id}`)).body.status).toBe('cancelled');
  });

  test('axe-core finds nothing serious, in light and in dark', async () => {
    const id = await create({ task_name: 'fail', payload: { message: 'no', permanent: true } });
    await until(async () => (await server.a.get(`/api/v1/jobs/${id}?wait_secs=20`)).body.status === 'failed');
    const page = await stage.visit('/', { expected: /status of 404/ });
    const findings: string[] = [];
    for (const [path, ready] of [
      ['/', 'Waiting time'],
      ['/jobs', 'New job'],
      [`/jobs/${id}`, 'Metadata'],
      ['/jobs?new=1', 'Create job'],
      ['/jobs/none', 'It may be the id of a workflow'],
      ['/operations', 'Operations'],
    ] as const) {
      await page.goto(`${server.url}/ui${path}`);
      await page.locator('main').getByText(ready).or(page.locator('dialog').getByText(ready)).first().waitFor();
      findings.push(...(await seriousFindings(page)).map((finding) => `${path}: ${finding}`));
    }
    expect(findings).toEqual([]);
  });

  test('fits a narrow screen', async () => {
    const page = await stage.visit('/jobs', { width: 390 });
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    for (const path of ['/', '/jobs', '/operations']) {
      await page.goto(`${server.url}/ui${path}`);
      await page.locator('main h1').waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    }
  });
});
