// `npm run check`: types, lint, and the tests of domain and store, within a minute, for whoever is working here.
import { imports, style, tests, types } from './lib/checks.mjs';
import { installed } from './lib/setup.mjs';
import { runStages, together } from './lib/stages.mjs';
import { root } from './lib/tools.mjs';

process.chdir(root);
await installed();
await runStages('npm run check', [
  ['types', types],
  // What is imported has to be built.
  ['imports, and the style of what has changed', together(imports, style)],
  ['tests of domain and store', tests(['quick'], ['packages/server/test/domain', 'packages/server/test/store'])],
]);
