import { expect, it } from 'vitest';
import { repositoryFile } from './generated.js';
import { stateMachineText } from './state-machine-text.js';

it('docs/state-machine.md shows the table as it is', async () => {
  const text = stateMachineText();
  await expect(text, 'docs/state-machine.md is stale: npm run docs').toMatchFileSnapshot(
    repositoryFile('docs/state-machine.md'),
  );
});
