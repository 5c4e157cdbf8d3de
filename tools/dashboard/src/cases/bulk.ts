import { performance } from 'node:perf_hooks';
import { until } from '@millrace/tools-shared';
import { holds, took, type Case, type Stage } from '../case.js';
import { createJobs } from '../fill.js';

const QUEUE = 'bulk';

/** One operation on very many jobs, started from the page; the server is killed in the middle of it. */
export const bulk: Case = {
  name: 'bulk',
  title: 'A bulk operation, with the server killed midway',
  run: async (stage) => {
    const { tenant, options, service } = stage;
    const words = options.bulk.toLocaleString('en');
    stage.say(`creating ${words} jobs to cancel`);
    await createJobs(tenant, options.bulk, (n) => ({
      task_name: 'cancel_me',
      payload: { n },
      config: { queue: QUEUE },
    }));
    await createJobs(stage.other, 100, () => ({ task_name: 'cancel_me', config: { queue: QUEUE } }));
    const before = await census(stage);

    const page = await stage.visit(`/jobs?status=pending&queue=${QUEUE}`, { expected: /ERR_|Failed to load/ });
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: /^Select all/ }).click();
    await page.getByRole('button', { name: 'Cancel…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel jobs' });
    const asked = await dialog.locator('label b').textContent();
    await dialog.getByLabel(/Type/).fill(asked ?? '');
    const began = performance.now();
    await dialog.locator('button[type=submit]').click();
    await page.waitForURL('**/ui/operations/*');
    const id = page.url().split('/').at(-1) ?? '';

    const atKill = await until(
      async () => {
        const { status, done } = await tenant.get<Operation>(`/operations/${id}`);
        if (status !== 'running') throw new Error('the operation was over before the server could be killed');
        return done > options.bulk / 3 && { done };
      },
      { what: 'a third of the operation', withinMs: 300_000, everyMs: 5 },
    );
    await service.kill();
    await page.getByRole('alert').getByText('the server does not answer').waitFor();
    await service.start();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await page.getByText(`${words} of ${words} looked at, ${words} changed, 0 needed no change.`).waitFor();
    const ms = performance.now() - began;
    await page.locator('.page-head').getByText('completed').waitFor();
    await page.context().close();

    const after = await census(stage);
    const key = `acme ${QUEUE}`;
    const untouched = [...before].filter(([each]) => !each.startsWith(key));
    return [
      holds(`Killed after ${atKill.done.toLocaleString('en')} of ${words} jobs; the page comes back by itself`, true),
      took('From the click to the outcome on the page', ms, null),
      holds('Nothing is left', (after.get(`${key} pending`) ?? 0) === 0),
      holds('Each was cancelled once', after.get(`${key} cancelled`) === options.bulk),
      holds(
        'Nothing else was touched: other queues, and another tenant on the same queue',
        untouched.every(([each, count]) => after.get(each) === count) && untouched.length > 4,
      ),
    ];
  },
};

interface Operation {
  readonly status: string;
  readonly done: number;
}

/** How many jobs there are by tenant, queue and state; without what runs by itself. */
async function census({ cluster }: Stage): Promise<ReadonlyMap<string, number>> {
  const rows = await cluster.query<{ key: string; n: string }>(
    `SELECT concat_ws(' ', tenant, queue, status::text) AS key, count(*) AS n
     FROM millrace.job_records WHERE queue NOT IN ('default') GROUP BY 1`,
  );
  return new Map(rows.map(({ key, n }) => [key, Number(n)]));
}
