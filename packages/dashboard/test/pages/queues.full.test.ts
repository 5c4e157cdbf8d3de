import { afterEach, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, startTestServer } from '../../../server/test/support/server.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';
import { keepAsking, nextOf } from '../support/leases.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';

/** However long pages take to show what they should. */
const LEASE_SECS = 3600;

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
    await nextOf(server.worker, 'inside', { worker_id: 'worker-7' });
    const soon = await create('inside', 'soon', 5);
    const page = await stage.visit('/');
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    await page.getByRole('link', { name: 'inside' }).click();
    await page.getByRole('heading', { name: 'inside' }).waitFor();
    const hog = page.locator('.by-task li', { hasText: 'hog' });
    await hog.getByText(/^3 waiting$/).waitFor();
    await page
      .locator('.by-task li', { hasText: 'urgent' })
      .getByText(/^1 running$/)
      .waitFor();
    // Bars can be compared: all begin at the same place.
    const bars = await page
      .locator('.by-task .share')
      .evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().left));
    expect(bars.length).toBeGreaterThanOrEqual(3);
    expect(new Set(bars).size).toBe(1);
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

  test('what runs next is the first ten of a queue, however long it is', async () => {
    const jobs = Array.from({ length: 12 }, (_, n) => ({ task_name: `n${n}`, config: { queue: 'line' } }));
    await server.a.post('/api/v1/jobs/batch', { jobs });
    const page = await stage.visit('/queues/line');
    const next = page.getByRole('table', { name: 'Next jobs' }).locator('[data-row]');
    await next.first().getByText('n0', { exact: true }).waitFor();
    expect(await next.count()).toBe(10);
  });

  test('an operator sees all tenants, pauses a queue after a question, and resumes it', async () => {
    await create('held', 'work');
    await create('held', 'work', 0, server.b);
    // The pages of tenants are not theirs: whatever the address, nothing of those is asked for.
    const page = await stage.visit('/jobs', { token: ADMIN_TOKEN });
    await page.waitForURL('**/ui/admin');
    const row = page.locator('[data-row="held"]');
    await row.getByText('tenant-b').waitFor();
    // Nothing is cut off: on a usual screen the whole table is in view, on a narrower one it can be scrolled.
    const frame = page.locator('.table-frame').filter({ has: row });
    const isWhole = (): Promise<boolean> => frame.evaluate((each) => each.scrollWidth <= each.clientWidth);
    expect(await isWhole()).toBe(true);
    await page.setViewportSize({ width: 800, height: 900 });
    expect(await isWhole()).toBe(false);
    await frame.evaluate((each) => each.scrollTo({ left: each.scrollWidth }));
    const { right } = await row.getByRole('button', { name: 'Pause held' }).evaluate((b) => b.getBoundingClientRect());
    expect(right).toBeLessThanOrEqual(800);
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.getByRole('table', { name: 'Tenants' }).locator('[data-row="tenant-a"]').waitFor();
    await row.getByRole('button', { name: 'Pause held' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause held?' });
    await dialog.getByText(/tenant-a, tenant-b|tenant-b, tenant-a/).waitFor();
    await dialog.getByLabel('Reason, for everybody to see').fill('the provider is down');
    await dialog.getByRole('button', { name: 'Pause held' }).click();
    await row.getByText('paused', { exact: true }).waitFor();
    await row.getByText('the provider is down (admin)').waitFor();
    expect((await server.worker.post('/api/v1/queues/held/lease', {})).body.jobs).toEqual([]);

    const tenant = await stage.visit('/queues/held');
    await tenant
      .locator('.page-head')
      .getByText(/^paused .*: the provider is down \(admin\)$/)
      .waitFor();
    await row.getByRole('button', { name: 'Resume held' }).click();
    await row.getByRole('button', { name: 'Pause held' }).waitFor();
    expect((await server.worker.post('/api/v1/queues/held/lease', {})).body.jobs).toHaveLength(1);
    await tenant.locator('.page-head').getByText('paused').waitFor({ state: 'detached' });
  });

  test('a queue tells apart what waits and what is scheduled, and how fast it goes', async () => {
    const config = { queue: 'paced' };
    await server.a.post('/api/v1/jobs', { task_name: 'later', delay_secs: 3600, config });
    const series = {
      from: new Date(Date.now() - 3_600_000).toISOString(),
      step_secs: 15,
      columns: Object.fromEntries(
        ['created', 'completed', 'failed', 'retried'].map((name, at) => [name, Array(240).fill([1, 2, 1, 0][at])]),
      ),
    };
    const times = ['wait_p50', 'wait_p95', 'wait_p99', 'run_p50', 'run_p95', 'run_p99'];
    Object.assign(series.columns, Object.fromEntries(times.map((name) => [name, Array(240).fill(null)])));
    const page = await stage.visit('/workers', { alone: true });
    await page.route('**/api/v1/series?queue=paced', (route) => route.fulfill({ json: series }));
    await page.goto(`${server.url}/ui/queues/paced`);
    const tile = (name: string): Promise<string | null> =>
      page
        .getByRole('list', { name: 'What the queue holds' })
        .getByRole('listitem')
        .filter({ hasText: new RegExp(`^${name}`) })
        .textContent();
    await expect.poll(() => tile('comes in')).toBe('comes in4/minlast 5 min');
    expect(await tile('goes out')).toBe('goes out12/minlast 5 min');
    expect(await tile('scheduled')).toBe('scheduled1');
    expect(await tile('waiting')).toBe('waiting0');
    await page
      .locator('.by-task')
      .getByText(/^1 scheduled$/)
      .waitFor();
    for (let n = 0; n < 24; n++) await create('paced', 'now');
    await expect.poll(() => tile('empty in')).toBe('empty in3 minat this rate');
    await expect.poll(() => tile('waiting')).toBe('waiting24');
    // What has changed moves, unless somebody wants nothing to.
    await create('paced', 'now');
    const changed = page.getByRole('list', { name: 'What the queue holds' }).locator('.changed');
    await changed.filter({ hasText: '25' }).waitFor();
    expect(await changed.count()).toBe(1);
    const motion = () => changed.evaluate((each) => getComputedStyle(each).animationName);
    expect(await motion()).toBe('changed');
    await page.emulateMedia({ reducedMotion: 'reduce' });
    expect(await motion()).toBe('none');
  });

  test('each job of a queue is in one state, and each number leads to exactly its jobs', async () => {
    const queue = 'sorted';
    const add = async (fields: object): Promise<string> => {
      const { config = {}, ...rest } = fields as { config?: object };
      const job = { task_name: 'work', ...rest, config: { jitter_factor: 0, ...config, queue } };
      return (await server.a.post('/api/v1/jobs', job)).body.job_id as string;
    };
    const failOnce = async (retry_delay_secs: number): Promise<string> => {
      const id = await add({ config: { retry_delay_secs } });
      const { lease_token } = await nextOf(server.worker, queue);
      await server.worker.post(`/api/v1/jobs/${id}/fail`, { lease_token, error: 'no' });
      return id;
    };
    const retrying = [await failOnce(3600)];
    const running = [await add({})];
    await nextOf(server.worker, queue);
    retrying.push(await failOnce(0));
    const waiting = [await add({}), await add({})];
    const scheduled = [await add({ delay_secs: 3600 })];
    const expected = { waiting, scheduled, retrying, running };

    const page = await stage.visit('/queues', { alone: true });
    const cell = (title: string) => page.locator(`[data-row="${queue}"] td[data-title="${title}"]`);
    for (const [state, ids] of Object.entries(expected)) {
      const title = state.slice(0, 1).toUpperCase() + state.slice(1);
      await expect.poll(() => cell(title).textContent()).toBe(String(ids.length));
      await cell(title).getByRole('link').click();
      const rows = page.locator('[data-row]');
      await expect.poll(() => rows.count()).toBe(ids.length);
      const shown = await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-row') ?? ''));
      expect(shown.sort()).toEqual([...ids].sort());
      for (const row of await rows.all()) expect(await row.locator('.state').textContent()).toBe(state);
      expect(await page.getByLabel('State').inputValue()).toBe(state);
      await page.goBack();
    }
    await page.goto(`${server.url}/ui/queues/${queue}`);
    const tiles = page.getByRole('list', { name: 'What the queue holds' }).getByRole('listitem');
    const share = page.locator('.by-task li', { hasText: 'work' });
    for (const [state, ids] of Object.entries(expected)) {
      await expect
        .poll(() => tiles.filter({ hasText: new RegExp(`^${state}`) }).textContent())
        .toBe(`${state}${ids.length}`);
      await share.getByText(new RegExp(`^${ids.length} ${state}$`)).waitFor();
    }
    // The operator's figures are sums of the same.
    const admin = await stage.visit('/admin', { token: ADMIN_TOKEN });
    const tile = (state: string) =>
      admin
        .getByRole('list', { name: 'Jobs of all tenants by state' })
        .getByRole('listitem')
        .filter({ hasText: state });
    for (const state of Object.keys(expected)) {
      const title = state.slice(0, 1).toUpperCase() + state.slice(1);
      const cells = admin.getByRole('table', { name: 'Queues of all tenants' }).locator(`td[data-title="${title}"]`);
      await expect
        .poll(async () => (await cells.allTextContents()).reduce((sum, text) => sum + Number(text), 0))
        .toBe(Number((await tile(state).locator('.figure').textContent()) ?? -1));
    }
  });

  test('queues keep their place while they fill and empty, and none is a link to nothing', async () => {
    await create('stay-a', 'work');
    for (let n = 0; n < 3; n++) await create('stay-b', 'work');
    const page = await stage.visit('/queues', { alone: true });
    const rows = page.getByRole('table', { name: 'Queues' }).locator('[data-row^="stay-"]');
    const names = (): Promise<(string | null)[]> =>
      rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-row')));
    await expect.poll(names).toEqual(['stay-a', 'stay-b']);
    await nextOf(server.worker, 'stay-a', { worker_id: 'w' });
    const running = page.locator('[data-row="stay-a"] td[data-title="Running"]');
    await expect.poll(() => running.textContent()).toBe('1');
    expect(await running.getByRole('link').count()).toBe(1);
    expect(await page.locator('[data-row="stay-a"] td[data-title="Waiting"]').getByRole('link').count()).toBe(0);
    const { body } = await server.a.get('/api/v1/jobs?queue=stay-a');
    await server.a.post(`/api/v1/jobs/${body.jobs[0].id}/cancel`);
    await page.locator('[data-row="stay-a"]').getByText('idle').waitFor();
    expect(await names()).toEqual(['stay-a', 'stay-b']);
    // The server has not heard of it either.
    await page.route('**/api/v1/queues?idle=true', (route) => route.fulfill({ json: { queues: [] } }));
    await page.locator('[data-row="stay-b"]').getByText('idle').waitFor();
    expect(await names()).toEqual(['stay-a', 'stay-b']);
  });

  test('a browser that is here for the first time lists idle queues, and their pages are a click away', async () => {
    // Another server did the work: it has written what it did when it has stopped.
    const other = await startTestServer({ config: { mode: 'api' }, database: server.database });
    const { body } = await other.a.post('/api/v1/jobs', { task_name: 'work', config: { queue: 'rested' } });
    await other.a.post(`/api/v1/jobs/${body.job_id}/cancel`);
    await other.stop();
    const page = await stage.visit('/queues', { alone: true });
    const row = page.locator('[data-row="rested"]');
    await row.getByText('idle', { exact: true }).waitFor();
    await page.locator('nav.menu').getByRole('link', { name: 'Overview' }).click();
    await row.getByRole('link', { name: 'rested' }).click();
    await page.getByRole('heading', { name: 'rested' }).waitFor();
  });

  test('a worker is one row with all of its queues and what it runs; one that is gone is folded away', async () => {
    const job = await create('desk-1', 'dig');
    await create('desk-2', 'saw');
    const ask = (queue: string, fields: object, client = server.worker) =>
      client.post(`/api/v1/queues/${queue}/lease`, { lease_secs: LEASE_SECS, ...fields });
    // Somebody who worked ten minutes ago, on a server that is gone too.
    const other = await startTestServer({ config: { mode: 'api' }, database: server.database });
    await ask('desk-1', { worker_id: 'gone', max_jobs: 1 }, other.worker);
    const { body } = await other.a.get(`/api/v1/jobs/${job}`);
    expect(body.worker_id).toBe('gone');
    await other.stop();
    await server.database.query(
      `UPDATE millrace.workers SET last_seen_at = last_seen_at - interval '10 minutes' WHERE worker = 'gone'`,
    );
    await server.a.post(`/api/v1/jobs/${job}/cancel`);
    const dug = await create('desk-1', 'dig');
    for (const queue of ['desk-1', 'desk-2']) await ask(queue, { worker_id: 'both', slots: 4 });
    await create('desk-2', 'theirs', 0, server.b);
    await ask('desk-2', { worker_id: 'both', slots: 4 });
    // One that is new, and has been quick; and one that has found nothing to do.
    const sand = { task_name: 'sand', config: { queue: 'desk-2', retry_delay_secs: 3600 } };
    for (let n = 0; n < 6; n++) await server.a.post('/api/v1/jobs', sand);
    const leased = (await ask('desk-2', { worker_id: 'quick', slots: 6, max_jobs: 6 })).body.jobs;
    const reports = leased.map((each: { job: { id: string }; lease_token: string }) => ({
      ...{ job_id: each.job.id, lease_token: each.lease_token, outcome: 'failed', error: 'not yet' },
    }));
    await server.worker.post('/api/v1/reports', { reports });
    const offers: [string, object][] = [
      ...['desk-1', 'desk-2'].map((queue): [string, object] => [queue, { worker_id: 'both', slots: 4 }]),
      ['desk-2', { worker_id: 'quick', slots: 6 }],
      ['desk-1', { worker_id: 'idle', slots: 3 }],
      ['elsewhere', { worker_id: 'stranger', slots: 3 }],
    ];
    await keepAsking(() => Promise.all(offers.map(([queue, fields]) => ask(queue, fields))));

    const page = await stage.visit('/workers?worker=both', { alone: true });
    const rowOf = (name: string) =>
      page.getByRole('table', { name: 'Workers', exact: true }).locator(`[data-row="${name}"]`);
    const row = rowOf('both');
    await row.waitFor();
    expect(await row.count()).toBe(1);
    expect(await row.getByRole('link', { name: /^desk-/ }).allTextContents()).toEqual(['desk-1', 'desk-2']);
    const cell = (name: string, title: string): Promise<string | null> =>
      rowOf(name).locator(`td[data-title="${title}"]`).textContent();
    expect(await cell('both', 'Slots in use')).toBe('3/8');
    await row.getByText('1 for other tenants').waitFor();
    expect(await cell('both', 'Rate, last hour')).toBe('0/min');
    expect(await row.locator('td[data-title="Last seen"] time').count()).toBe(1);
    expect(await cell('quick', 'Slots in use')).toBe('0/6');
    // Not a tenth of a job per minute, as if it had been there for an hour; the server tells its age to five minutes.
    expect(Number.parseFloat((await cell('quick', 'Rate, last hour')) ?? '')).toBeGreaterThanOrEqual(1);
    expect(await cell('idle', 'Slots in use')).toBe('0/3');
    expect(await cell('idle', 'Runs now')).toBe('nothing');
    expect(await page.getByText('stranger').count()).toBe(0);
    await page.getByText('1 worker gone').waitFor();
    expect(await page.locator('[data-row="gone"]').isVisible()).toBe(false);
    await page.getByText('1 worker gone').click();
    await page.locator('[data-row="gone"]').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await row.getByRole('link', { name: 'dig' }).click();
    await page.waitForURL(`**/jobs/${dug}`);
  });

  test('a queue shows its limits: what is set for it, and how much of each key is used', async () => {
    for (let n = 0; n < 3; n++) {
      const config = { queue: 'limited', limits: [{ key: 'user-7', running: 2 }] };
      await server.a.post('/api/v1/jobs', { task_name: 'export', config });
    }
    await server.a.post('/api/v1/jobs', {
      task_name: 'call',
      config: { queue: 'limited', limits: [{ key: 'partner', rate: { count: 100, per_secs: 60, burst: 5 } }] },
    });
    const offer = { max_jobs: 10, slots: 4, worker_id: 'w', lease_secs: LEASE_SECS };
    await keepAsking(() => server.worker.post('/api/v1/queues/limited/lease', offer));
    await server.admin.send('PUT', '/api/v1/admin/queues/limited', { body: { running: 50, share: 'tenant' } });
    const page = await stage.visit('/queues/limited');
    await page.getByText('of the queue: at most 50 running, tenants take turns').waitFor();
    const keys = page.getByRole('table', { name: 'Limits by key' });
    const user = keys.locator('[data-row="user-7"]');
    await user.getByText('2/2').waitFor();
    expect(await user.locator('td[data-title="Waiting"]').textContent()).toBe('1');
    await keys.locator('[data-row="partner"]').getByText('100 per minute, up to 5 at once').waitFor();
    const slots = page.getByRole('list', { name: 'What the queue holds' }).getByTitle('By jobs of all tenants');
    await slots.getByText('slots in use').waitFor();
    await page.getByText(/^\d of 4$/).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    // A queue without limits has no empty panel.
    await create('free', 'work');
    const free = await stage.visit('/queues/free');
    await free.locator('.by-task li', { hasText: 'work' }).waitFor();
    await free.waitForLoadState('networkidle');
    expect(await free.getByRole('heading', { name: 'Limits' }).count()).toBe(0);
  });

  test('an operator sets the limits of a queue, and takes them away', async () => {
    await create('narrow', 'work');
    const page = await stage.visit('/admin', { token: ADMIN_TOKEN });
    const row = page.locator('[data-row="narrow"]');
    await row.getByRole('button', { name: 'Limits of narrow' }).click();
    const dialog = page.getByRole('dialog', { name: 'Limits of narrow' });
    await dialog.getByLabel('Running at a time').fill('3');
    await dialog.getByLabel('Jobs that may start').fill('1000');
    await dialog.getByLabel('Tenants take turns').check();
    await dialog.getByRole('button', { name: 'Set limits' }).click();
    await row.getByText('tenants take turns').waitFor();
    expect(await row.locator('.limits li').allTextContents()).toEqual([
      'at most 3 running',
      '1,000 per minute',
      'tenants take turns',
    ]);
    // What can be done about a queue is in sight, however much is set for it.
    expect(await row.evaluate((each) => each.getBoundingClientRect().right)).toBeLessThan(1280);
    const { body } = await server.admin.get('/api/v1/admin/queues/narrow');
    const rate = { count: 1000, per_secs: 60, burst: 1 };
    expect(body).toEqual({ queue: 'narrow', running: 3, rate, share: 'tenant' });

    await row.getByRole('button', { name: 'Limits of narrow' }).click();
    await dialog.getByLabel('Running at a time').fill('');
    await dialog.getByLabel('Jobs that may start').fill('');
    await dialog.getByLabel('Tenants take turns').uncheck();
    await dialog.getByRole('button', { name: 'Set limits' }).click();
    await row.locator('td[data-title="Limits"]').getByText('–').waitFor();
  });

  test('an operator sees whose jobs ended, of all queues and of one', async () => {
    // What a process did is written when it stops.
    const other = await startTestServer({ config: { mode: 'api' }, database: server.database });
    for (const [client, queue, n] of [
      [other.a, 'shared', 3],
      [other.b, 'shared', 1],
      [other.b, 'own', 5],
    ] as const) {
      for (let i = 0; i < n; i++) await client.post('/api/v1/jobs', { task_name: 't', config: { queue } });
      const { body } = await other.worker.post(`/api/v1/queues/${queue}/lease`, {
        ...{ max_jobs: n, worker_id: 'w', lease_secs: LEASE_SECS },
      });
      const reports = (body.jobs as { job: { id: string }; lease_token: string }[]).map(({ job, lease_token }) => ({
        ...{ job_id: job.id, lease_token, outcome: 'completed' },
      }));
      expect((await other.worker.post('/api/v1/reports', { reports })).status).toBe(200);
    }
    await other.stop();
    const page = await stage.visit('/admin', { token: ADMIN_TOKEN });
    const plot = (): Promise<string | null> =>
      page.getByRole('img', { name: /^Jobs ended per/ }).getAttribute('aria-label');
    await expect.poll(plot).toMatch(/: tenant-b: 6; tenant-a: 3$/);
    await page.getByRole('img', { name: 'tenant-b: 6 jobs ended' }).waitFor();
    await create('shared', 'later');
    await page.getByRole('option', { name: 'shared' }).waitFor({ state: 'attached' });
    await page.getByRole('combobox', { name: /^Queue/ }).selectOption('shared');
    await expect.poll(plot).toMatch(/: tenant-a: 3; tenant-b: 1$/);
    expect(await page.locator('rect.bar').count()).toBeGreaterThanOrEqual(2);
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
