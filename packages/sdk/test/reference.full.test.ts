import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { sdkReference } from './support/reference.js';

it('docs/sdk-reference.md says what the SDK exports, and every export has a doc comment', async () => {
  const { text, undocumented } = await sdkReference();
  expect(undocumented).toEqual([]);
  const page = fileURLToPath(new URL('../../../docs/sdk-reference.md', import.meta.url));
  await expect(text, 'docs/sdk-reference.md is stale: npm run docs').toMatchFileSnapshot(page);
});
