import type { Page } from 'playwright-core';
import { afterEach, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, KEY_B, startTestServer } from '../../../server/test/support/server.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';
import { nextOf } from '../support/leases.js';

const STEP_SECS = 15;
const STEPS = 240;

type Columns = Readonly<Record<string, (index: number) => number | null>>;

const lastStep = (): number => Math.floor(Date.now() / 15_000) * 15_000;
/** Whatever the second is: within a minute, never at its end. */
const midMinute = (): number => Math.floor(Date.now() / 60_000) * 60_000 + 30_000;

/** What `/series` answers: an hour in steps of 15 seconds, with these columns and nothing else. */
function seriesOf(columns: Columns, until = lastStep()): object {
  const from = new Date(until - STEPS * STEP_SECS * 1000).toISOString();
  const names = ['created', 'completed', 'failed', 'retried'];
  const times = ['wait_p50', 'wait_p95', 'wait_p99', 'run_p50', 'run_p95', 'run_p99'];
  const values = (name: string, otherwise: number | null): (number | null)[] =>
    Array.from({ length: STEPS }, (_, index) => columns[name]?.(index) ?? otherwise);
  return {
    from,
    step_secs: STEP_SECS,
    columns: Object.fromEntries([
      ...names.map((name) => [name, values(name, 0)] as const),
      ...times.map((name) => [name, values(name, null)] as const),
    ]),
  };
}

const stuck = (queue: string, secs: number): object => ({
  ...{ queue, pending: 3, scheduled: 0, running: 0, retrying: 0, oldest_pending_age_secs: secs },
  ...{ paused_at: null, paused_reason: null, paused_by: null, last_lease_at: null, settings: null },
});

describe.skipIf(!hasBrowser)('the overview of the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  /** The overview, with some answers of the server replaced before it asks for them. */
  const overview = async (answers: Readonly<Record<string, (url: URL) => object>>): Promise<Page> => {
    const page = await stage.visit('/operations', { alone: true });
    await page.getByRole('heading', { name: 'Operations' }).waitFor();
    for (const [path, answer] of Object.entries(answers)) {
      await page.route(
        (url) => url.pathname === `/api/v1${path}`,
        (route) => route.fulfill({ json: answer(new URL(route.request().url())) }),
      );
    }
    await page.goto(`${server.url}/ui/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    return page;
  };

  test('one card has the three worst things, the rest on request, each with what to do', async () => {
    const queues = Array.from({ length: 8 }, (_, n) => stuck(`queue-${n}`, 600 + n * 60));
    const page = await overview({ '/queues': () => ({ queues }) });
    const lines = page.getByRole('list', { name: 'Needs attention' }).getByRole('listitem');
    await expect.poll(() => lines.count()).toBe(3);
    expect(await lines.first().textContent()).toContain('queue-7: 3 jobs are due, the oldest for 17 min');
    await page.getByRole('button', { name: '5 more' }).click();
    expect(await lines.count()).toBe(8);
    expect(await seriousFindings(page)).toEqual([]);
    await lines.last().getByRole('link', { name: 'See' }).click();
    await page.waitForURL('**/queues/queue-0');
  });

  test('a queue is paused from the card by whoever may', async () => {
    const who = (await server.a.get('/api/v1/whoami')).body as object;
    const answers = { '/queues': () => ({ queues: [stuck('slow', 600)] }), '/dlq/groups': () => ({ groups: [] }) };
    const line = (page: Page) => page.getByRole('list', { name: 'Needs attention' }).getByRole('listitem');
    const pause = (page: Page) => line(page).getByRole('button', { name: 'Pause slow' });
    const tenant = await overview(answers);
    await line(tenant).waitFor();
    expect(await pause(tenant).count()).toBe(0);
    const page = await overview({ ...answers, '/whoami': () => ({ ...who, kind: 'developer' }) });
    await pause(page).click();
    await page.getByRole('dialog', { name: 'Pause slow?' }).getByRole('button', { name: 'Pause slow' }).waitFor();
  });

  test('what is put aside stays away until it changes', async () => {
    let age = 600;
    const page = await overview({ '/queues': () => ({ queues: [stuck('slow', age)] }) });
    const line = page.getByRole('list', { name: 'Needs attention' }).getByText('slow: 3 jobs are due');
    await line.waitFor();
    await page.getByRole('button', { name: /^Put aside until it changes: slow/ }).click();
    await page.getByText('Nothing needs attention.').waitFor();
    await page.reload();
    await page.getByText('1 line put aside: bring back').waitFor();
    expect(await line.count()).toBe(0);
    // Twice as long as it was.
    age = 2000;
    await line.waitFor();
    expect(await page.getByText('put aside: bring back').count()).toBe(0);
  });

  test('dead letters that are put aside stay away while a few more come, not when they have doubled', async () => {
    const at = new Date().toISOString();
    let count = 4;
    const group = { fingerprint: 'f', task_name: 'send_mail', reason: 'non_retryable', message: 'no such user' };
    const page = await overview({
      '/queues': () => ({ queues: [] }),
      '/dlq/groups': () => ({
        groups: [{ ...group, count, open: count, first_at: at, last_at: new Date().toISOString(), latest_id: count }],
      }),
    });
    const line = (n: number) => page.getByRole('listitem').filter({ hasText: `${n} new dead letters of send_mail` });
    const away = page.getByText('1 line put aside: bring back');
    await line(4)
      .getByRole('button', { name: /^Put aside/ })
      .click();
    await away.waitFor();
    count = 7;
    await page.reload();
    await away.waitFor();
    count = 8;
    await line(8).waitFor();
    expect(await away.count()).toBe(0);
  });

  test('dead letters are replayed from the card, after a dry run', async () => {
    await server.a.post('/api/v1/jobs', { task_name: 'send_mail', config: { queue: 'mail', max_retries: 0 } });
    const { job, lease_token } = await nextOf(server.worker, 'mail', { worker_id: 'w' });
    await server.worker.post(`/api/v1/jobs/${job.id}/fail`, { lease_token, error: 'smtp: refused' });
    const page = await stage.visit('/', { alone: true });
    const line = page.getByRole('listitem').filter({ hasText: 'smtp: refused' });
    await line.getByRole('button', { name: 'Replay…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 1 dead letter' }).click();
    await page.waitForURL('**/operations/*');
    await page.getByText('1 of 1 looked at, 1 changed').waitFor();
    // What was replayed needs no attention any more, whatever becomes of it.
    await nextOf(server.worker, 'mail', { worker_id: 'w' });
    await page.locator('nav.menu').getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Nothing needs attention.').waitFor();
    await expect.poll(() => page.locator('link[rel=icon]').getAttribute('href')).not.toContain('trouble');
  });

  test('the icon of the tab shows trouble, and that it is over', async () => {
    let queues = [stuck('slow', 600)];
    const page = await overview({ '/queues': () => ({ queues }), '/dlq/groups': () => ({ groups: [] }) });
    const icon = (): Promise<string | null> => page.locator('link[rel=icon]').getAttribute('href');
    await expect.poll(icon).toMatch(/\/assets\/icon-trouble-[\w-]+\.svg$/);
    expect((await page.request.get((await icon())!)).ok()).toBe(true);
    await page.getByRole('link', { name: /^Overview.*something needs attention/ }).waitFor();
    queues = [];
    await expect.poll(icon).toMatch(/\/assets\/icon-(?!trouble)[\w-]+\.svg$/);
  });

  test('a lone outlier is marked, and does not flatten the plot of waiting times', async () => {
    const series = seriesOf({
      wait_p50: (index) => (index === 40 ? 0.5 : index > 120 ? 0.2 : null),
      wait_p95: (index) => (index > 120 ? 1.2 : null),
      wait_p99: (index) => (index === 200 ? 23 * 86_400 : index > 120 ? 1.8 : null),
    });
    const page = await overview({ '/series': () => series });
    const plot = page.getByRole('img', { name: /^Waiting time: .*at most 23 d/ });
    await plot.getByText('up to 23 d').waitFor();
    expect(await plot.locator('.outlier').count()).toBe(1);
    expect(await plot.locator('.mark').first().textContent()).toBe('0 s');
    expect(await plot.getByText('3 s').count()).toBe(1);
    // A value with nothing on either side has a mark of its own.
    expect(await plot.locator('circle.point').count()).toBe(1);
    const areWithin = plot.evaluate((svg) => {
      const frame = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].every((text) => {
        const { left, right } = text.getBoundingClientRect();
        return left >= frame.left - 1 && right <= frame.right + 1;
      });
    });
    expect(await areWithin).toBe(true);
  });

  test('the slowest job of a quiet service is marked; what went on for a while is shown as a whole', async () => {
    const quiet = seriesOf({
      wait_p50: (index) => (index % 60 === 30 ? (index === 150 ? 40 : 0.2) : null),
      wait_p99: (index) => (index % 60 === 30 ? (index === 150 ? 40 : 0.3) : null),
    });
    let series = quiet;
    const page = await overview({ '/series': () => series });
    const plot = page.getByRole('img', { name: /^Waiting time: .*at most 40 s/ });
    await plot.getByText('up to 40 s').waitFor();
    expect(await plot.getByText('500 ms').count()).toBe(1);
    // As high as the others, but for minutes.
    series = seriesOf({
      wait_p50: (index) => (index >= 150 && index < 160 ? 40 : 0.2),
      wait_p99: (index) => (index >= 150 && index < 160 ? 40 : 0.3),
    });
    await page.reload();
    await plot.getByText('40 s', { exact: true }).waitFor();
    expect(await plot.locator('.outlier').count()).toBe(0);
  });

  test('what is not complete is drawn as such, and no line falls to it', async () => {
    const columns = { created: () => 4, completed: (index: number) => (index === STEPS - 1 ? 1 : 4) };
    const series = seriesOf(columns, midMinute());
    const page = await overview({ '/series': () => series, '/queues': () => ({ queues: [stuck('mail', 5)] }) });
    const plot = page.getByRole('img', { name: /^Jobs per minute/ });
    const bars = await plot
      .locator('rect.bar')
      .evaluateAll((all) => all.map((bar) => bar.classList.contains('partly')));
    expect(bars.at(-1)).toBe(true);
    expect(bars.slice(2, -2)).not.toContain(true);
    const ends = (path: string): number[] => [...path.matchAll(/[ML][\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y));
    const across = ends((await plot.locator('path.line').getAttribute('d')) ?? '');
    expect(new Set(across).size).toBe(1);
    const lines = page.locator('.cards .tile', { hasText: 'Completed' }).or(page.locator('[data-row="mail"]'));
    for (const line of await lines.locator('.sparkline path.line').all())
      expect(new Set(ends((await line.getAttribute('d')) ?? '')).size).toBe(1);
    expect(await lines.locator('.sparkline').count()).toBe(2);
  });

  test('a job that was due before it existed has waited since it existed', async () => {
    // What a process did is written when it stops.
    const other = await startTestServer({ config: { mode: 'api' }, database: server.database });
    const job = { task_name: 'past', run_at: '2020-01-01T00:00:00Z', config: { queue: 'past' } };
    expect((await other.a.post('/api/v1/jobs', job)).status).toBe(201);
    expect((await other.worker.post('/api/v1/queues/past/lease', { worker_id: 'w' })).body.jobs).toHaveLength(1);
    await other.stop();
    const page = await stage.visit('/');
    const plot = page.getByRole('img', { name: /^Waiting time: p50: last / });
    await plot.waitFor();
    expect(await plot.getAttribute('aria-label')).not.toMatch(/\d d\b/);
  });

  test('cards say what the span held and how that compares with the span before; bars show outcomes', async () => {
    const now = seriesOf({ created: () => 2, completed: () => 2, failed: (index) => (index < 24 ? 1 : 0) });
    const before = seriesOf({ created: () => 1, completed: () => 1, failed: (index) => (index < 48 ? 1 : 0) });
    const asked: URL[] = [];
    const page = await overview({
      '/series': (url) => {
        asked.push(url);
        return url.searchParams.has('to') ? before : now;
      },
    });
    const card = (title: string): Promise<string | null> =>
      page
        .getByRole('list', { name: 'In the last hour' })
        .getByRole('listitem')
        .filter({ hasText: title })
        .textContent();
    await expect.poll(() => card('Completed')).toBe('Completed480up 100%before: 240');
    expect(await card('Failed')).toBe('Failed24down 50%before: 48');
    expect(await card('Failure rate')).toBe('Failure rate4.8%down 11.9 ptsbefore: 17%');
    const [from, to] = ['from', 'to'].map((name) => {
      const url = asked.find(({ searchParams }) => searchParams.has('to'));
      return Date.parse(url?.searchParams.get(name) ?? '');
    });
    expect(to! - from!).toBe(3_600_000);
    const plot = page.getByRole('img', {
      name: 'Jobs per minute: completed: 480; retried: 0; failed: 24; created: 480',
    });
    expect(await plot.locator('rect.bar.tone-green').count()).toBeGreaterThanOrEqual(60);
    const failed = await plot.locator('rect.bar.tone-red').count();
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThan(10);
  });

  test('a place is kept for what is loading, and an empty service shows its first command', async () => {
    const page = await stage.visit('/operations', { alone: true });
    await page.getByRole('heading', { name: 'Operations' }).waitFor();
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    await page.route('**/api/v1/queues?*', async (route) => {
      await held;
      await route.fulfill({ json: { queues: [] } });
    });
    await page.goto(`${server.url}/ui/queues`);
    await page.locator('.skeleton').getByText('Loading…').waitFor({ state: 'attached' });
    go();
    await page.getByText('No queue yet').waitFor();
    expect(await page.getByLabel('Command').textContent()).toContain('"config":{"queue":"mail"}');
  });

  test.each([
    ['/', 'No job is waiting or running', '"task_name":"echo"'],
    ['/jobs', 'No job yet', '"task_name":"echo"'],
    ['/workflows', 'No workflow yet', '"depends_on":["reserve"]'],
    ['/dead-letters', 'No dead letter', '"permanent":true'],
    ['/queues', 'No queue yet', '"config":{"queue":"mail"}'],
    ['/cron', 'No schedule yet', '"cron_expr":"0 3 * * *"'],
    ['/waiting', 'No question', "ctx.waitFor('approval'"],
    ['/workers', 'No worker yet', '/queues/mail/lease'],
    ['/operations', 'No bulk operation yet', '"dry_run":true'],
    ['/audit', 'Nothing yet', '/admin/queues/mail/pause', ADMIN_TOKEN],
  ])('%s says what there could be, and has what makes the first one to copy', async (...example) => {
    const [path, title, command, token = KEY_B] = example;
    const page = await stage.visit(path, { token });
    const empty = page.locator('.empty').filter({ has: page.locator('b', { hasText: title }) });
    await empty.locator('.empty-icon .icon').waitFor();
    expect(await empty.getByLabel('Command').textContent()).toContain(command);
    await empty.getByRole('button', { name: 'Copy' }).waitFor();
  });

  test('where nothing ever ran, the first command comes first; later, what happened does', async () => {
    let completed = 0;
    const states = ['pending', 'scheduled', 'running', 'retrying', 'failed', 'cancelled'];
    const none = { n: 0, exact: true };
    const page = await overview({
      '/counts': () => ({
        jobs: { ...Object.fromEntries(states.map((state) => [state, none])), completed: { n: completed, exact: true } },
        dead_letters: none,
      }),
      '/queues': () => ({ queues: [] }),
    });
    const [command, cards] = [page.getByLabel('Command'), page.getByRole('list', { name: 'In the last hour' })];
    await Promise.all([command.waitFor(), cards.waitFor()]);
    const isFirst = async (): Promise<boolean> => {
      const [one, other] = await Promise.all([command.boundingBox(), cards.boundingBox()]);
      return (one?.y ?? 0) < (other?.y ?? 0);
    };
    await expect.poll(isFirst).toBe(true);
    completed = 1;
    await expect.poll(isFirst).toBe(false);
  });

  test('the menu has at most seven entries, and the rest in groups', async () => {
    const page = await stage.visit('/operations');
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('group', { name: 'At work' }).getByRole('link', { name: 'Workers' }).waitFor();
    const all = await menu.getByRole('link').count();
    const grouped = await menu.getByRole('group').getByRole('link').count();
    expect(all - grouped).toBeLessThanOrEqual(7);
    expect(grouped).toBeGreaterThanOrEqual(3);
  });
});
