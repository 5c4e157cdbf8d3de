import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ADMIN_TOKEN, KEY_A } from '../../server/test/support/server.js';
import { hasBrowser, useStage } from './support/browser.js';
import { busyDatabase, furnish, TENANTS, type Sights } from './support/busy.js';

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const SIZE = { width: 1280, height: 720 } as const;

const SETTLE_MS = 1_500;

/** Pictures for the documentation, made on request: `npm run screenshots`. */
const wanted = process.env.MILLRACE_SCREENSHOTS === '1' && hasBrowser;

interface Picture {
  readonly name: string;
  readonly path: (sights: Sights) => string;
  /** What is on the page when it is complete. */
  readonly ready: string;
  readonly token?: string;
}

const PICTURES: readonly Picture[] = [
  { name: 'overview', path: () => '/?span=15m', ready: 'main figure.chart path' },
  { name: 'jobs', path: () => '/jobs', ready: '[data-row]' },
  { name: 'job', path: ({ job }) => `/jobs/${job}`, ready: '.timeline-run' },
  { name: 'workflows', path: () => '/workflows', ready: '.state-bar' },
  { name: 'workflow', path: ({ workflow }) => `/workflows/${workflow}`, ready: '.step-texts' },
  { name: 'dead-letters', path: () => '/dead-letters', ready: '[data-row]' },
  { name: 'dead-letter', path: ({ deadLetter }) => `/dead-letters/${deadLetter}`, ready: '.error-text' },
  { name: 'waiting', path: () => '/waiting', ready: 'text=Approve' },
  { name: 'cron', path: () => '/cron', ready: '[data-row]' },
  { name: 'queues', path: () => '/queues', ready: '[data-row]' },
  { name: 'queue', path: () => '/queues/mail', ready: 'main figure.chart path' },
  { name: 'workers', path: () => '/workers', ready: '[data-row]' },
  { name: 'operation', path: ({ operation }) => `/operations/${operation}`, ready: 'text=Did it help?' },
  { name: 'admin', path: () => '/admin', ready: '[data-row]', token: ADMIN_TOKEN },
  { name: 'audit', path: () => '/audit', ready: '[data-row]', token: ADMIN_TOKEN },
];

describe.runIf(wanted)('pictures of the dashboard', async () => {
  if (!wanted) return;
  const past = await busyDatabase();
  // The last thing: what is registered later is done before it.
  afterAll(() => past.database.drop());
  const stage = await useStage({ database: past.database, config: { apiKeys: TENANTS } });
  let sights: Sights;
  beforeAll(async () => {
    sights = await furnish(stage.server, past);
    await mkdir(IMAGES, { recursive: true });
  });

  describe.each(PICTURES)('$name', ({ name, path, ready, token = KEY_A }) => {
    test.each(['light', 'dark'] as const)('%s', async (theme) => {
      const page = await stage.visit(path(sights), { theme, token, width: SIZE.width });
      await page.setViewportSize(SIZE);
      await page.locator(ready).first().waitFor();
      await complete(page);
      await page.screenshot({ path: `${IMAGES}${name}-${theme}.png` });
      await stage.quiet();
    });
  });

  /** Nothing is loading. */
  async function complete(page: Page): Promise<void> {
    // What a page reads after its first content: a stream of events never ends, so there is nothing to wait for.
    await page.waitForTimeout(SETTLE_MS);
    await expect.poll(() => page.locator('.loading, .skeleton, .dimmed').count()).toBe(0);
    await page.evaluate(() => document.fonts.ready.then(() => undefined));
  }
});
