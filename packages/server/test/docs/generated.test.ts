import { expect, it } from 'vitest';
import { readRepositoryFile, refreshed, repositoryFile } from './generated.js';

it.each(['docs/configuration.md', 'docs/worker-protocol.md'])('%s shows the code as it is', async (path) => {
  const text = readRepositoryFile(path);
  expect(text).toMatch(/<!-- (options|file: \S+) -->/);
  await expect(refreshed(text), `${path} is stale: npm run docs`).toMatchFileSnapshot(repositoryFile(path));
});
