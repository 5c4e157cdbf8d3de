import type { Page } from 'playwright-core';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { cloneDatabase } from '../../server/test/support/database.js';
import { startProxy } from '../../server/test/support/proxy.js';
import { hasBrowser, useStage } from './support/browser.js';
import { nextOf } from './support/leases.js';

/** What the browser itself says when nobody answers, or the server cannot. */
const EXPECTED = /ERR_|status of 503/;
/** Pages look again every two seconds, and wait longer after an error. */

describe.skipIf(!hasBrowser)('the dashboard while something is away', async () => {
  const database = await cloneDatabase();
  afterAll(() => database.drop());
  const wire = await startProxy(database.url);
  const stage = await useStage({ database: { ...database, url: wire.url } });
  afterAll(() => wire.close());
  const { server } = stage;
  afterEach(() => stage.quiet());

  const create = async (queue: string, count: number): Promise<void> => {
    const jobs = Array.from({ length: count }, () => ({ task_name: 'pack_parcel', config: { queue } }));
    const reply = await server.a.post('/api/v1/jobs/batch', { jobs });
    expect(reply.status, reply.text).toBe(201);
  };
  /** Leases a job of the queue and completes it. */
  const runOne = async (queue: string): Promise<string> => {
    const { job, lease_token } = await nextOf(server.worker, queue);
    const reply = await server.worker.post(`/api/v1/jobs/${job.id}/complete`, { lease_token });
    expect(reply.status, reply.text).toBe(204);
    return job.id;
  };
  const rowsOf = (page: Page): Promise<string[]> =>
    page.locator('[data-row]').evaluateAll((all) => all.map((row) => row.getAttribute('data-row') ?? ''));

  test('an event stream that is cut is said to be, and is taken up again by itself', async () => {
    const proxy = await startProxy(server.url);
    const { body } = await server.a.post('/api/v1/workflows', {
      name: 'cut',
      steps: [
        { name: 'one', task_name: 't', queue: 'cut' },
        { name: 'two', task_name: 't', queue: 'cut', depends_on: ['one'] },
        { name: 'three', task_name: 't', queue: 'cut', depends_on: ['two'] },
      ],
    });
    const url = new URL(proxy.url).origin;
    const page = await stage.visit(`/workflows/${body.workflow_id}`, { url, expected: EXPECTED });
    const live = page.getByText('live', { exact: true });
    const completed = (step: string): Promise<void> =>
      page.locator(`.node[data-step="${step}"][data-status="completed"]`).waitFor();
    await live.waitFor();
    const followed = await server.a.post('/api/v1/jobs', { task_name: 'pack_parcel', config: { queue: 'cut-too' } });
    const job = await stage.visit(`/jobs/${followed.body.job_id}`, { url, expected: EXPECTED });
    await job.locator('.why').waitFor();
    await proxy.cut();
    await page.getByRole('alert').getByText('the server does not answer').first().waitFor();
    await job.getByRole('alert').getByText('the server does not answer').first().waitFor();
    await live.waitFor({ state: 'detached' });
    expect(await page.locator('.node').count()).toBe(3);
    await runOne('cut');
    await proxy.restore();
    await completed('one');
    await live.waitFor();
    for (const each of [page, job]) await each.getByRole('alert').first().waitFor({ state: 'detached' });
    await runOne('cut-too');
    await job.locator('.page-head').getByText('completed').waitFor();
    // By the stream now: whoever follows it does not look at the steps again.
    const looks: string[] = [];
    page.on('request', (request) => looks.push(request.url()));
    await runOne('cut');
    await completed('two');
    expect(looks.filter((address) => address.endsWith('/steps'))).toEqual([]);
    await stage.quiet();
    await proxy.close();
  });

  test('a database that goes away is said to be, leaves all pages usable, and comes back', async () => {
    await create('outage', 3);
    const page = await stage.visit('/jobs?queue=outage', { expected: EXPECTED });
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    const before = await rowsOf(page);
    expect(before).toHaveLength(3);
    await wire.cut();
    await page.getByText(/^unavailable · request /).waitFor();
    expect(await rowsOf(page)).toEqual(before);
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    await page.getByText(/^unavailable · request /).waitFor();
    await page.goBack();
    await wire.restore();
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await expect.poll(async () => (await server.a.get('/api/v1/queues')).status).toBe(200);
    await create('outage', 2);
    await page.getByRole('button', { name: '2 new' }).waitFor();
    expect(await rowsOf(page)).toEqual(before);
  });

  test('rows stay put, to the pixel, while jobs come and go', async () => {
    await create('busy', 60);
    const page = await stage.visit('/jobs?queue=busy');
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    const placesOf = (): Promise<string[]> =>
      page
        .locator('[data-row]')
        .evaluateAll((all) => all.map((row) => `${row.getAttribute('data-row')} ${row.getBoundingClientRect().top}`));
    const before = await placesOf();
    expect(before).toHaveLength(50);
    const ended: string[] = [];
    for (let n = 0; n < 15; n++) {
      await create('busy', 8);
      ended.push(await runOne('busy'));
    }
    await page.getByRole('button', { name: '100+ new' }).waitFor();
    // The oldest go first; ten of them are on the next page.
    const shown = ended.filter((id) => before.some((place) => place.startsWith(id)));
    expect(shown).toHaveLength(5);
    for (const id of shown) await page.locator(`[data-row="${id}"]`).getByText('completed').waitFor();
    expect(await placesOf()).toEqual(before);
    await page.locator('[data-row]').first().getByRole('checkbox').check();
    await page.getByText('1 job selected').waitFor();
    expect(await placesOf()).toEqual(before);
  });
});
