import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';
import { statementFiles } from './statements.js';

const FILE = fileURLToPath(new URL('../../src/store/statement-parameters.ts', import.meta.url));
const HEAD = `/**
 * The parameters of every statement, by file and name, as \`sql/queries\` names them: what callers are checked against.
 * Written by \`npm run statements\`; a test compares.
 */
export interface StatementParameters {
`;

it('src/store/statement-parameters.ts names the parameters of every statement', async () => {
  const files = statementFiles().map(({ file, statements }) => {
    const parameters = statements.map(
      ({ name, parameters: names }) => `${name}: ${names.map((each) => `'${each}'`).join(' | ') || 'never'};`,
    );
    return `'${file}': {\n${parameters.join('\n')}\n};`;
  });
  const text = await format(`${HEAD}${files.join('\n')}\n}\n`, { ...(await resolveConfig(FILE)), filepath: FILE });
  await expect(text, 'the file is stale: npm run statements').toMatchFileSnapshot(FILE);
});
