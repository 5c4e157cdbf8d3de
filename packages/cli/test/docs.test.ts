import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { refreshed } from './support/commands-page.js';

it('docs/cli.md shows the commands as they are', async () => {
  const path = fileURLToPath(new URL('../../../docs/cli.md', import.meta.url));
  const text = readFileSync(path, 'utf8');
  expect(text).toMatch(/<!-- commands -->/);
  await expect(refreshed(text), 'docs/cli.md is stale: npm run docs').toMatchFileSnapshot(path);
});
