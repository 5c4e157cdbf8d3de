import { afterAll, afterEach, describe, test, expect } from 'vitest';
import { evenRanges } from '../../../server/src/domain/cells.js';
import { asCells } from '../../../server/test/support/cells.js';
import { cloneDatabase } from '../../../server/test/support/database.js';
import { startProxy } from '../../../server/test/support/proxy.js';
import { ADMIN_TOKEN } from '../../../server/test/support/server.js';
import { hasBrowser, seriousFindings, useStage } from '../support/browser.js';

describe.skipIf(!hasBrowser)('operators of a service on two databases', async () => {
  const [low, high] = await Promise.all([cloneDatabase(), cloneDatabase()]);
  const proxy = await startProxy(high.url);
  const cells = asCells([low, { ...high, url: proxy.url }], evenRanges(2));
  // Hooks run backwards: the server has stopped by then.
  afterAll(async () => {
    await proxy.close();
    await cells.drop();
  });
  const stage = await useStage({ database: cells, config: { mode: 'api' } });
  afterEach(() => stage.quiet());

  test('are told which of them is missing, for as long as it is', async () => {
    const page = await stage.visit('/admin', { token: ADMIN_TOKEN });
    await page.getByRole('list', { name: 'All tenants in figures' }).waitFor();
    const notice = page.getByText('the cell c2 did not answer: its tenants are left out');
    await notice.waitFor({ state: 'detached' });
    await proxy.cut();
    await notice.waitFor();
    await page.getByRole('list', { name: 'All tenants in figures' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await proxy.restore();
    await notice.waitFor({ state: 'detached' });
  });
});
