import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ADMIN_TOKEN, JWT_SECRET, KEY_A, TENANT_A } from '../../../server/test/support/server.js';
import { DIST, hasBrowser, useStage } from '../support/browser.js';

/** What the browser itself says when the server refuses a credential. */
const REFUSED = /status of 401/;

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
function jwt(claims: object): string {
  const text = `${part({ alg: 'HS256' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', JWT_SECRET).update(text).digest('base64url')}`;
}
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds;

describe.skipIf(!hasBrowser)('the shell of the dashboard', async () => {
  const stage = await useStage();
  const { server } = stage;
  afterEach(() => stage.quiet());

  test('has the page that was asked for at hand by the time somebody signs in', async () => {
    const page = await stage.visit('/jobs', { token: null });
    // A link announces each file of the page, and of what that needs.
    const isAtHand = (): Promise<boolean> =>
      page.evaluate(() => {
        const fetched = new Set(performance.getEntriesByType('resource').map(({ name }) => name));
        const links = document.querySelectorAll<HTMLLinkElement>('link[rel=modulepreload], link[rel=stylesheet]');
        const files = [...links].map(({ href }) => href);
        return files.some((file) => file.includes('/assets/jobs-page-')) && files.every((file) => fetched.has(file));
      });
    await expect.poll(isAtHand).toBe(true);
    await page.route('**/assets/**', (route) => route.abort());
    await page.getByLabel('API key or JWT').fill(KEY_A);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
  });

  test('waits for the file of the page that was asked for, and stays there', async () => {
    const page = await stage.visit('/admin', { token: ADMIN_TOKEN, alone: true });
    await page.getByRole('heading', { name: 'All tenants' }).waitFor();
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    await page.route('**/assets/operators-*.js', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${server.url}/ui/audit`, { waitUntil: 'commit' });
    // By then it is known who asks, and which page is meant.
    await page.locator('nav.menu [aria-current=page]', { hasText: 'Audit' }).waitFor();
    expect(await page.locator('main').textContent()).toBe('');
    go();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/audit');
  });

  test('asks again in place when a JWT expires', async () => {
    const page = await stage.visit('/jobs?queue=mail', {
      token: jwt({ sub: TENANT_A, exp: inSeconds(300) }),
      expected: REFUSED,
    });
    await page.getByRole('heading', { name: 'Jobs' }).waitFor();
    // The clock that the server, in this process, looks at: its tests need not wait for an expiry.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 301_000 });
    onTestFinished(() => void vi.useRealTimers());
    const dialog = page.getByRole('dialog', { name: 'Sign in again' });
    await dialog.waitFor();
    await dialog.getByLabel('API key or JWT').fill(jwt({ sub: TENANT_A, exp: inSeconds(600) }));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(page.url()).toContain('/ui/jobs?queue=mail');
  });

  test('leads to a pasted id with the keys alone', async () => {
    const { body } = await server.a.post('/api/v1/jobs', { task_name: 'find-me', config: { queue: 'nobody' } });
    const page = await stage.visit('/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill(body.job_id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'find-me' }).waitFor();

    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('link', { name: 'find-me' }).first().waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Queue');
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'Jobs' }).click();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/ui\/jobs\/[0-9a-f-]{36}$/);
  });

  test('goes back to where one was on a page, and forward again; what cannot be fetched is said in place', async () => {
    for (let n = 0; n < 30; n++)
      await server.a.post('/api/v1/jobs', { task_name: `row-${n}`, config: { queue: 'long' } });
    const page = await stage.visit('/jobs?queue=long', { expected: /ERR_FAILED|dynamically imported/ });
    const row = page.getByRole('link', { name: 'row-3', exact: true });
    await row.scrollIntoViewIfNeeded();
    const top = (): Promise<number> => page.evaluate(() => scrollY);
    await expect.poll(top).toBeGreaterThan(100);
    const before = await top();
    await row.click();
    await page.getByRole('heading', { name: 'row-3' }).waitFor();
    expect(await top()).toBe(0);
    await page.goBack();
    await row.waitFor();
    await expect.poll(top).toBe(before);
    expect(page.url()).toContain('/ui/jobs?queue=long');
    await page.goForward();
    await page.getByRole('heading', { name: 'row-3' }).waitFor();
    await page.route('**/assets/workflow*', (route) => route.abort());
    await page.route('**/assets/lists*', (route) => route.abort());
    await page.getByRole('link', { name: 'Workflows', exact: true }).click();
    await page
      .getByRole('alert')
      .getByText(/fetch|import/)
      .waitFor();
    await page.getByRole('link', { name: 'Queues', exact: true }).click();
    await page.getByRole('heading', { name: 'Queues' }).waitFor();
    await page.goto(`${server.url}/ui/no/such/page`);
    await page.getByText('There is no such page.').waitFor();
  });

  test('remembers the theme and the zone of times', async () => {
    const page = await stage.visit('/', { alone: true });
    await page.getByLabel('Account: tenant-a').click();
    await page.getByLabel('Theme').selectOption('dark');
    const ground = (): Promise<string> =>
      page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await expect.poll(ground).toBe('rgb(11, 16, 19)');
    await page.reload();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await ground()).toBe('rgb(11, 16, 19)');
  });

  test('works under the prefix of a proxy, on every depth', async () => {
    const { hostname, port } = new URL(server.url);
    const proxy = createServer((incoming, outgoing) => {
      const path = incoming.url?.replace(/^\/some\/prefix/, '') ?? '/';
      const onward = forward({ hostname, port, path, method: incoming.method, headers: incoming.headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      incoming.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/some/prefix`;
    const { body } = await server.a.post('/api/v1/jobs', { task_name: 'behind-a-proxy', config: { queue: 'nobody' } });
    const page = await stage.visit(`/jobs/${body.job_id}`, { url });
    await page.getByRole('heading', { name: 'behind-a-proxy' }).waitFor();
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.waitForURL(`${url}/ui/jobs`);
    await page.goto(`${url}/`);
    await page.waitForURL(`${url}/ui/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await stage.quiet();
    proxy.close();
    proxy.closeAllConnections();
  });

  const gzipped = (name: string): number => {
    const path = `${DIST}/assets/${name}`;
    return statSync(`${path}.gz`, { throwIfNoEntry: false })?.size ?? readFileSync(path).length;
  };
  const sum = (names: readonly string[]): number => names.reduce((total, name) => total + gzipped(name), 0);

  test('stays small: the first page below 150 kB, everything below 200 kB, gzipped', async () => {
    const page = await stage.visit('/', { token: null });
    const loaded = new Set<string>();
    page.on('response', (response) => loaded.add(new URL(response.url()).pathname));
    await page.evaluate((token) => sessionStorage.setItem('millrace.token', token), KEY_A);
    await page.reload();
    await page
      .getByText('Nothing needs attention.')
      .or(page.getByRole('list', { name: 'Needs attention' }))
      .waitFor();
    await page.getByRole('img', { name: /^Waiting time/ }).waitFor();
    const first = [...loaded].filter((path) => path.includes('/assets/')).map((path) => path.split('/').at(-1) ?? '');
    expect(first.length).toBeGreaterThan(1);
    expect(sum(first)).toBeLessThan(150_000);
    expect(sum(readdirSync(`${DIST}/assets`).filter((name) => !/\.(br|gz)$/.test(name)))).toBeLessThan(200_000);
  });

  test('stays small: whichever page is opened first, it is below 150 kB, gzipped', async () => {
    const { body } = await server.a.post('/api/v1/jobs', { task_name: 'small', config: { queue: 'small' } });
    const steps = [{ name: 'only', task_name: 'small', queue: 'small' }];
    const workflow = await server.a.post('/api/v1/workflows', { name: 'small', steps });
    const lists = ['jobs', 'workflows', 'dead-letters', 'waiting', 'cron', 'queues', 'workers', 'operations'];
    const own = [`jobs/${body.job_id}`, `workflows/${workflow.body.workflow_id}`, 'queues/small'];
    const large: string[] = [];
    const look = async (path: string, token = KEY_A): Promise<void> => {
      const page = await stage.visit(`/${path}`, { token });
      // A page draws its heading once all of its files are there.
      await page.locator('main h1').waitFor();
      const names = await page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name));
      const files = new Set(names.filter((name) => name.includes('/assets/')).map((name) => name.split('/').at(-1)!));
      expect(files.size).toBeGreaterThan(1);
      const bytes = sum([...files]);
      if (bytes >= 150_000) large.push(`${path}: ${bytes}`);
      await page.close();
    };
    for (const path of [...lists, ...own]) await look(path);
    for (const path of ['admin', 'audit']) await look(path, ADMIN_TOKEN);
    expect(large).toEqual([]);
  });
});
