import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Case, Finding } from '../case.js';

const ASSETS = fileURLToPath(new URL('../../../../packages/dashboard/dist/assets', import.meta.url));
const FIRST_BYTES = 150_000;
const ALL_BYTES = 200_000;

const PATHS = ['/', '/jobs', '/workflows', '/dead-letters', '/cron', '/queues', '/workers', '/operations'] as const;

/** What a browser that has never been here fetches for each page, gzipped. */
export const sizes: Case = {
  name: 'sizes',
  title: 'Sizes, gzipped',
  run: async (stage) => {
    const findings: Finding[] = [];
    for (const path of PATHS) {
      const page = await stage.visit(path);
      await page.locator('main h1').waitFor();
      await page.locator('main .skeleton').first().waitFor({ state: 'detached' });
      const names = await page.evaluate(() =>
        performance
          .getEntriesByType('resource')
          .map(({ name }) => new URL(name).pathname)
          .filter((name) => name.includes('/assets/')),
      );
      await page.context().close();
      const files = [...new Set(names.map((name) => name.split('/').at(-1) ?? ''))];
      findings.push(size(`${path}, opened first`, files, FIRST_BYTES));
    }
    const all = readdirSync(ASSETS).filter((name) => !/\.(br|gz)$/.test(name));
    return [...findings, size('All files together', all, ALL_BYTES)];
  },
};

function size(what: string, files: readonly string[], below: number): Finding {
  const bytes = files.reduce((sum, file) => sum + gzipped(file), 0);
  return {
    what,
    result: `${(bytes / 1000).toFixed(1)} kB, ${files.length} files`,
    aim: `below ${below / 1000} kB`,
    ok: bytes < below,
  };
}

function gzipped(file: string): number {
  const path = join(ASSETS, file);
  return statSync(`${path}.gz`, { throwIfNoEntry: false })?.size ?? readFileSync(path).length;
}
