import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Millrace, silentLogger } from '@millrace/sdk';
import { installOutbox } from '@millrace/server';
import { afterAll, expect, it } from 'vitest';
import { emptyDatabase } from '../../server/test/support/database.js';
import { KEY_A, useTestServer, WORKER_TOKEN } from '../../server/test/support/server.js';
import { until } from '../../server/test/support/until.js';
import { compile, programFolder, runProgram } from './support/programs.js';

const EXAMPLE = fileURLToPath(new URL('../../../examples/shop/', import.meta.url));
const application = await emptyDatabase();
afterAll(() => application.drop());
await installOutbox(application.url, { app: [], relay: [] });
const server = await useTestServer({ config: { mode: 'api', outbox: application.url, outboxToken: KEY_A } });

it('the shop of examples/ signs up, resizes, sells and sweeps', async () => {
  const folder = await programFolder();
  const files = readdirSync(EXAMPLE).filter((name) => name.endsWith('.ts'));
  expect(
    compile(
      files.map((name) => join(EXAMPLE, name)),
      folder,
    ),
  ).toEqual([]);
  const env = {
    MILLRACE_URL: server.url,
    MILLRACE_TOKEN: KEY_A,
    MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
    PORT: '0',
    SHOP_DATABASE_URL: application.url,
  };
  const web = runProgram(join(folder, 'server.js'), env);
  const worker = runProgram(join(folder, 'worker.js'), env);
  const [url] = await web.said(/http:\/\/localhost:\d+/);
  const call = async (path: string, body?: object): Promise<any> => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return (await fetch(`${url}${path}`, body && init)).json();
  };
  const ended = (path: string): Promise<any> =>
    until(async () => {
      const seen = await call(path);
      return ['completed', 'failed'].includes(seen.status) ? seen : undefined;
    });

  const ada = await call('/signup', { email: 'ada@example.com' });
  expect(await call('/signup', { email: 'ada@example.com' })).toEqual(ada);
  expect((await ended(`/users/${ada.userId}/welcome`)).result).toEqual({ messageId: 'welcome-1' });

  const image = await call('/images', { image: 'teapot' });
  expect((await ended(`/jobs/${image.jobId}`)).result.files).toHaveLength(3);
  const poster = await call('/images', { image: 'poster', widths: Array.from({ length: 300 }, (_, n) => n) });
  await until(async () => (await call(`/jobs/${poster.jobId}`)).progress?.of === 300);
  await fetch(`${url}/jobs/${poster.jobId}`, { method: 'DELETE' });
  expect((await call(`/jobs/${poster.jobId}`)).status).toBe('cancelled');

  const buy = (id: string, sku: string, card: string): Promise<unknown> =>
    call('/orders', { id, sku, count: 2, card }).then(() => ended(`/orders/${id}`));
  const step = (name: string, status: string, errorMessage: unknown = null) => ({ name, status, errorMessage });
  const [good, slow, declined, soldOut] = await Promise.all([
    buy('1', 'teapot', '4242'),
    buy('2', 'teapot', 'slow-4242'),
    buy('3', 'teapot', 'declined-4242'),
    buy('4', 'sold-out', '4242'),
  ]);
  expect(good).toMatchObject({ status: 'completed', parcel: '1-from-shelf-6' });
  expect(slow).toEqual({
    status: 'completed',
    parcel: '2-from-shelf-6',
    steps: [step('reserve', 'completed'), step('charge', 'completed'), step('ship', 'completed')],
  });
  expect(declined).toMatchObject({
    status: 'failed',
    steps: [{ status: 'completed' }, step('charge', 'failed', 'the card was declined for 2500 cents'), {}],
  });
  expect(soldOut).toMatchObject({ status: 'failed', steps: [step('reserve', 'failed', 'sold out'), {}, {}] });

  const millrace = new Millrace({ url: server.url, token: KEY_A, logger: silentLogger });
  const swept = await millrace.schedules.trigger('sweep-carts');
  expect(await swept.result()).toEqual({ removed: 0 });

  for (const { child, ended } of [web, worker]) {
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  }
});
