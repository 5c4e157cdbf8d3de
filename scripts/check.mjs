// `npm run check`: types, lint, and the tests of domain and store, within a minute, for whoever is working here.
import { imports, style, tests, types } from './lib/checks.mjs';
import { installed } from './lib/setup.mjs';
import { runStages, together } from './lib/stages.mjs';
import { root } from './lib/tools.mjs';

process.chdir(root);
await installed();
await runStages('npm run check', [
  ['types and imports', together(types, imports)],
  ['format and lint of what has changed', style],
  ['tests of domain and store', tests(['quick'], ['packages/server/test/domain', 'packages/server/test/store'])],
]);
