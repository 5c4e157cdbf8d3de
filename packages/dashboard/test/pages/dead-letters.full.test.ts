import { afterEach, describe, expect, test } from 'vitest';
import { startTestServer, type TestServer } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';
import { nextOf } from '../support/leases.js';

/** What a tenant could write where a text is shown. */
const PROBE = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>\'"`{{x}}';

/** axe-core looks at every element of a page, several times over. */

describe.skipIf(!hasBrowser)('dead letters in the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  /** Jobs that fail for good, on a queue of their own; resolves once all are dead letters. */
  const kill = async (
    queue: string,
    jobs: readonly { task?: string; error: string; payload?: string }[],
    { a, worker }: Pick<TestServer, 'a' | 'worker'> = server,
  ): Promise<void> => {
    for (const { task = 'send_mail', payload = '{}' } of jobs) {
      const body = `{"task_name":${JSON.stringify(task)},"payload":${payload},"config":{"queue":"${queue}"}}`;
      expect((await a.post('/api/v1/jobs', body)).status).toBe(201);
    }
    const { body } = await worker.post(`/api/v1/queues/${queue}/lease`, {
      ...{ max_jobs: 100, worker_id: 'mailer-1', lease_secs: 3600 },
    });
    const reports = body.jobs.map(({ job, lease_token }: any, index: number) => ({
      job_id: job.id,
      lease_token,
      outcome: 'failed',
      retryable: false,
      error: jobs[index]!.error,
      details: { name: 'SmtpError', stack: `SmtpError: ${jobs[index]!.error}\n    at send (/app/mail.js:3:1)` },
    }));
    expect((await worker.post('/api/v1/reports', { reports })).body.reports).toHaveLength(jobs.length);
  };
  const letters = async (queue: string): Promise<any[]> =>
    (await server.a.get(`/api/v1/dlq?queue_name=${queue}&limit=100`)).body.dead_letters;

  test('what broke is two clicks from a replay that says how many, and leads to its operation', async () => {
    const errors = [1, 2, 3].map((n) => ({ error: `smtp: mailbox ${n} refused` }));
    await kill('groups', [...errors, { task: 'charge', error: 'card declined' }]);
    const page = await stage.visit('/dead-letters?queue_name=groups');
    const row = page.locator('[data-row]', { hasText: 'smtp: mailbox <n> refused' });
    await row.getByText('3', { exact: true }).waitFor();
    expect(await page.locator('[data-row]').count()).toBe(2);
    await row.getByRole('button', { name: 'Replay 3…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('dead letters match').waitFor();
    await dialog.getByRole('button', { name: 'Replay 3 dead letters' }).click();
    await page.waitForURL('**/ui/operations/*');
    await until(async () => (await letters('groups')).filter(({ replayed_at }) => replayed_at !== null).length === 3);
    const untouched = (await letters('groups')).find(({ task_name }) => task_name === 'charge');
    expect(untouched.replayed_at).toBeNull();
    await page.goto(`${server.url}/ui/dead-letters?queue_name=groups`);
    await row.getByText('replayed', { exact: true }).waitFor();
    expect(await row.getByRole('button').count()).toBe(0);
    await page.getByLabel('Replayed').selectOption('open');
    await expect.poll(() => page.locator('[data-row]').count()).toBe(1);
    await page.getByRole('button', { name: 'Replay 1…' }).waitFor();
  });

  test('a group opens as its entries; those that are selected are replayed, and no others', async () => {
    await kill('entries', [{ error: 'broken pipe' }, { error: 'broken pipe' }, { error: 'something else' }]);
    const page = await stage.visit('/dead-letters?queue_name=entries');
    await page.getByRole('link', { name: 'send_mail broken pipe' }).click();
    await page.waitForURL(/fingerprint=/);
    await expect.poll(() => page.locator('[data-row]').count()).toBe(2);
    const chosen = await page.locator('[data-row]').first().getAttribute('data-row');
    await page.locator('[data-row]').first().getByRole('checkbox').check();
    await page.getByText('The list does not change').waitFor();
    await page.getByRole('button', { name: 'Replay 1 entry…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay 1 dead letter' }).click();
    await page.waitForURL('**/ui/operations/*');
    const replayed = await until(async () => {
      const done = (await letters('entries')).filter(({ replayed_at }) => replayed_at !== null);
      return done.length > 0 && done;
    });
    expect(replayed.map(({ id }) => String(id))).toEqual([chosen]);
    await page.goto(`${server.url}/ui/dead-letters?view=entries&queue_name=entries&replayed=false`);
    await expect.poll(() => page.locator('[data-row]').count()).toBe(2);
    expect(await page.getByLabel('Replayed').inputValue()).toBe('false');
  });

  test('groups show when their task failed, with one request per task, whatever the number of its groups', async () => {
    // By a server that writes its series now, because it stops.
    const other = await startTestServer({ config: { mode: 'api' }, database: server.database });
    const errors = ['resize: out of memory', 'resize: out of memory', 'resize: no such file', 'convert: no such file'];
    const jobs = errors.map((error) => ({ task: error.split(':', 1)[0]!, error }));
    await kill('lines', jobs, other).finally(() => other.stop());
    // Until a task's first answer: later on the page looks again.
    const asked: string[] = [];
    const answered = new Set<string>();
    const taskOf = (url: string): string | null => {
      const { pathname, searchParams } = new URL(url);
      return pathname.endsWith('/series') && searchParams.get('queue') === 'lines' ? searchParams.get('task') : null;
    };
    const page = await stage.visit('/dead-letters?queue_name=nothing');
    page.on('request', (request) => {
      const task = taskOf(request.url());
      if (task !== null && !answered.has(task)) asked.push(task);
    });
    page.on('response', (response) => answered.add(taskOf(response.url()) ?? ''));
    await page.goto(`${server.url}/ui/dead-letters?queue_name=lines&since=1h`);
    const lines = page.getByRole('img', { name: '3 failures of resize, last hour, whatever the error' });
    await expect.poll(() => lines.count()).toBe(2);
    await page.getByRole('img', { name: '1 failure of convert, last hour, whatever the error' }).waitFor();
    // A group is one line: its buttons stand side by side, and its reason is not broken.
    await page.setViewportSize({ width: 1000, height: 900 });
    const row = page.locator('[data-row]', { hasText: 'resize' }).first();
    const tops = await row
      .locator('.button')
      .evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().top)));
    expect(tops.length).toBe(2);
    expect(new Set(tops).size).toBe(1);
    expect((await row.boundingBox())?.height).toBeLessThan(50);
    // It rises to the top somewhere: a line at the bottom would say that nothing failed.
    expect(await lines.first().locator('path.line').getAttribute('d')).toMatch(/L\d+\.\d 3\.0/);
    expect(asked.sort()).toEqual(['convert', 'resize']);
  });

  test('an entry shows every attempt with its stack, the payload to the byte, and whether the replay helped', async () => {
    await kill('entry', [{ error: 'smtp: refused', payload: '{"id": 9007199254740993, "amount": 1.10}' }]);
    const [letter] = await letters('entry');
    const page = await stage.visit(`/dead-letters/${letter.id}`);
    await page.locator('.error-text').getByText('smtp: refused').waitFor();
    await page.getByText('at send (/app/mail.js:3:1)').waitFor();
    await page.getByText('mailer-1').waitFor();
    await page.getByText('9007199254740993', { exact: true }).waitFor();
    await page.getByText('1.10', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByRole('heading', { name: 'Replay' }).waitFor();
    await page.getByText('waiting', { exact: true }).waitFor();
    const { job, lease_token } = await nextOf(server.worker, 'entry');
    expect(JSON.stringify(job.metadata)).toContain(letter.job_id);
    await server.worker.post(`/api/v1/jobs/${job.id}/complete`, { lease_token });
    await page.getByText('completed').waitFor();
    expect(await page.getByRole('button', { name: 'Replay', exact: true }).count()).toBe(0);
  });

  test('texts of tenants stay texts, and axe finds nothing serious on list, groups and entry', async () => {
    await kill('probe', [{ task: `t ${PROBE}`, error: PROBE, payload: JSON.stringify({ [PROBE]: PROBE }) }]);
    const [letter] = await letters('probe');
    const visits = [
      ['/dead-letters', 'light', 1280],
      ['/dead-letters?view=entries', 'dark', 1280],
      [`/dead-letters/${letter.id}`, 'dark', 390],
    ] as const;
    for (const [path, theme, width] of visits) {
      const page = await stage.visit(path, { theme, width });
      await page.getByText(`t ${PROBE}`).first().waitFor();
      expect(await page.evaluate(() => (globalThis as { broken?: unknown }).broken)).toBeUndefined();
      expect(await page.locator('main img, main script').count()).toBe(0);
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    }
  });
});
