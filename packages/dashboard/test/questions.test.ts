import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, TENANT_A } from '../../server/test/support/server.js';
import { until } from '../../server/test/support/until.js';
import { hasBrowser, useStage } from './support/browser.js';
import { nextOf } from './support/leases.js';

/** The most clicks that an answer may be away from the first page. */
const CLICKS = 2;

/** The questions that the dashboard is there for, each asked on the first page of a service that has trouble. */
describe.skipIf(!hasBrowser)('the questions', async () => {
  const stage = await useStage();
  const { a, worker, admin } = stage.server;
  const made = { failed: '', waiting: '' };
  afterEach(() => stage.quiet());

  beforeAll(async () => {
    const create = async (task_name: string, queue: string, priority = 0): Promise<string> => {
      const reply = await a.post('/api/v1/jobs', { task_name, config: { queue, priority, max_retries: 0 } });
      return reply.body.job_id as string;
    };
    const report = async (queue: string, outcome: object): Promise<void> => {
      const { job, lease_token } = await nextOf(worker, queue, { worker_id: 'mailer-1' });
      const reply = await worker.post('/api/v1/reports', { reports: [{ job_id: job.id, lease_token, ...outcome }] });
      expect(reply.body.reports[0].ok, reply.text).toBe(true);
    };
    const broken = {
      outcome: 'failed',
      error: 'smtp: refused',
      details: { name: 'SmtpError', stack: 'SmtpError: refused\n    at send (mail.js:1:2)' },
    };
    made.failed = await create('send_mail', 'mail');
    await report('mail', broken);
    for (let n = 0; n < 3; n++) await create('hog', 'mail');
    await create('urgent', 'mail', 9);
    made.waiting = await create('alone', 'nobody');
    await a.post('/api/v1/cron', {
      name: 'nightly',
      cron_expr: '0 3 1 1 *',
      task_name: 'build_report',
      queue: 'reports',
    });
    const [{ id: cron }] = (await a.get('/api/v1/cron')).body.crons;
    expect((await a.post(`/api/v1/cron/${cron}/trigger`)).status).toBeLessThan(300);
    await a.post('/api/v1/workflows', {
      name: 'order',
      steps: [
        { name: 'reserve', task_name: 'reserve', queue: 'steps' },
        { name: 'ship', task_name: 'ship', queue: 'steps', depends_on: ['reserve'] },
      ],
    });
    await report('steps', { outcome: 'completed' });
    await admin.post('/api/v1/admin/queues/later/pause', { reason: 'the provider is down' });
    await create('replayed', 'again');
    await report('again', broken);
    const filter = { queue_name: 'again', replayed: false };
    const started = await a.post('/api/v1/operations', { action: 'replay_dead_letters', filter });
    await until(
      async () => (await a.get(`/api/v1/operations/${started.body.operation_id}`)).body.status === 'completed',
    );
    await report('again', { outcome: 'completed' });
  });

  type Click = (target: Locator) => Promise<void>;
  const asks = (question: string, answer: (page: Page, click: Click) => Promise<void>, token?: string): void =>
    test(question, async () => {
      const page = await stage.visit(token === undefined ? '/' : '/admin', { ...(token !== undefined && { token }) });
      await page.getByRole('heading', { name: token === undefined ? 'Overview' : 'All tenants' }).waitFor();
      let clicks = 0;
      await answer(page, async (target) => {
        clicks += 1;
        await target.click();
      });
      expect(clicks).toBeLessThanOrEqual(CLICKS);
    });
  const menu = (page: Page, name: string): Locator => page.locator('nav.menu').getByRole('link', { name, exact: true });
  /** Pastes an id where one goes to anything. */
  const goTo = async (page: Page, click: Click, id: string): Promise<void> => {
    await click(page.getByRole('button', { name: 'Go to…' }));
    await page.getByRole('combobox').fill(id);
    await click(page.getByRole('option', { name: `job ${id}` }));
  };

  asks('Is anything wrong?', async (page) => {
    // Only the three worst are shown, and on a slow machine jobs have waited long by now.
    const lines = page.getByRole('list', { name: 'Needs attention' });
    await lines
      .getByText(/smtp: refused|and no worker asks for it/)
      .first()
      .waitFor();
  });

  asks('Why did this job fail?', async (page, click) => {
    await goTo(page, click, made.failed);
    await page.getByText('smtp: refused').first().waitFor();
    await page.getByText('at send (mail.js:1:2)').waitFor();
  });

  asks('What broke since the deploy?', async (page, click) => {
    await click(menu(page, 'Dead letters'));
    const groups = page.getByRole('table', { name: 'Groups of dead letters' }).locator('[data-row]');
    await groups.first().getByRole('link', { name: 'replayed smtp: refused' }).waitFor();
    await groups.last().getByText('send_mail').waitFor();
  });

  asks('Why is this job not running?', async (page, click) => {
    await goTo(page, click, made.waiting);
    await page.locator('.why').getByText('no worker asks for jobs of the queue').waitFor();
  });

  asks('Who is hogging the queue?', async (page, click) => {
    await click(page.getByRole('table', { name: 'Queues' }).getByRole('link', { name: 'mail', exact: true }));
    await page.locator('.by-task li').first().getByText('hog').waitFor();
    await page.locator('.by-task li').first().getByText('3 waiting').waitFor();
  });

  asks('What runs next?', async (page, click) => {
    await click(page.getByRole('table', { name: 'Queues' }).getByRole('link', { name: 'mail', exact: true }));
    const next = page.getByRole('table', { name: 'Next jobs' }).locator('[data-row]');
    await next.first().getByText('urgent').waitFor();
  });

  asks("Did last night's schedule fire?", async (page, click) => {
    await click(menu(page, 'Cron'));
    await click(page.locator('.strip-mark a').first());
    await page.getByRole('heading', { name: 'build_report' }).waitFor();
  });

  asks('Are there enough workers?', async (page, click) => {
    await page.getByRole('img', { name: /^Waiting time/ }).waitFor();
    await click(page.getByRole('table', { name: 'Queues' }).getByRole('link', { name: 'mail', exact: true }));
    await page.getByText('a worker last asked').waitFor();
    await page.getByText('oldest due').waitFor();
  });

  asks('Where does the workflow hang?', async (page, click) => {
    await click(menu(page, 'Workflows'));
    await click(page.getByRole('link', { name: 'order' }));
    await page.locator('.node[data-step="reserve"][data-status="completed"]').waitFor();
    await page.locator('.node[data-step="ship"][data-status="pending"]').waitFor();
    await page.getByText(/critical path/).waitFor();
  });

  asks('Did the replay help?', async (page, click) => {
    await click(menu(page, 'Operations'));
    await click(page.getByRole('link', { name: 'Replay dead letters' }));
    await page.getByText('It helped: every replayed job has completed.').waitFor();
  });

  asks('Why is this queue slow?', async (page, click) => {
    await click(page.getByRole('table', { name: 'Queues' }).getByRole('link', { name: 'mail', exact: true }));
    for (const fact of ['comes in', 'goes out', 'oldest due', 'a worker last asked'])
      await page.getByText(fact, { exact: true }).waitFor();
    await page.getByRole('img', { name: /^Times, 95th percentile/ }).waitFor();
  });

  asks(
    'What did this tenant do in the last hour?',
    async (page, click) => {
      const tenants = page.getByRole('table', { name: 'Tenants', exact: true });
      await click(tenants.getByRole('button', { name: TENANT_A }));
      await page.getByText(`You are reading as ${TENANT_A}`).waitFor();
      await page.getByRole('list', { name: 'In the last hour' }).getByText('Completed').waitFor();
    },
    ADMIN_TOKEN,
  );

  asks(
    'What did this operator change?',
    async (page, click) => {
      await click(menu(page, 'Audit'));
      const changes = page.getByRole('table', { name: 'Changes by operators' }).locator('[data-row]');
      await changes.filter({ hasText: 'paused the queue later' }).getByText('the provider is down').waitFor();
    },
    ADMIN_TOKEN,
  );
});
