import { afterEach, describe, expect, test } from 'vitest';
import { KEY_A, KEY_B, startTestServer, TENANT_A } from '../../../server/test/support/server.js';
import { hasBrowser, useStage } from '../support/browser.js';

const READ_KEY = 'read-key-of-tenant-a-77c0';
/** What the browser itself says when the server refuses a credential. */
const REFUSED = /status of 401/;

describe.skipIf(!hasBrowser)('the shell of the dashboard', async () => {
  const stage = await useStage({ config: { readKeys: new Map([[READ_KEY, TENANT_A]]) } });
  const { server } = stage;
  afterEach(() => stage.quiet());

  test('asks for a key, says when it is wrong, and keeps it in the tab until the sign-out', async () => {
    const page = await stage.visit('/jobs?status=failed', { token: null, expected: REFUSED });
    await page.getByLabel('API key or JWT').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('the bearer token is not valid').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('unauthorized · request');

    await page.getByLabel('API key or JWT').fill(`Bearer ${KEY_A}`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    expect(page.url()).toBe(`${server.url}/ui/jobs?status=failed`);
    expect(await page.evaluate(() => [document.cookie, JSON.stringify(localStorage)])).toEqual(['', '{}']);

    await page.reload();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    await page.getByLabel('Account: tenant-a').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key or JWT').waitFor();
    expect(await page.evaluate(() => sessionStorage.getItem('millrace.token'))).toBeNull();
  });

  test('refuses the token of the workers with a reason', async () => {
    const page = await stage.visit('/', { token: null });
    await page.getByLabel('API key or JWT').fill('token-of-the-workers-71aa');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('this is the worker token').waitFor();
  });

  test('hides from a read-only credential what it cannot do', async () => {
    const { body } = await server.a.post('/api/v1/jobs', { task_name: 'x', config: { queue: 'nobody' } });
    const page = await stage.visit(`/jobs/${body.job_id}`, { token: READ_KEY });
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    expect(await page.getByRole('button', { name: /Cancel|Run again/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('table', { name: 'Jobs' }).waitFor();
    expect(await page.getByRole('button', { name: 'New job' }).count()).toBe(0);
    expect(await page.getByRole('checkbox').count()).toBe(0);
  });

  test('shows nothing of another tenant', async () => {
    const { body } = await server.a.post('/api/v1/jobs', { task_name: 'secret-task', config: { queue: 'nobody' } });
    const page = await stage.visit(`/jobs/${body.job_id}`, { token: KEY_B, expected: /status of 40[34]/ });
    await page.getByRole('alert').or(page.getByText('There is no job with this id')).waitFor();
    expect(await page.getByText('secret-task').count()).toBe(0);
  });

  test('signs itself in to a development server, and says so', async () => {
    const dev = await startTestServer({ config: { dev: true } });
    try {
      const page = await stage.visit('/', { token: null, url: dev.url });
      await page.getByText('development server: signed in automatically').waitFor();
      await page.getByText('Nothing needs attention.').waitFor();
      await stage.quiet();
    } finally {
      await dev.stop();
    }
  });
});
