// `npm test`: what a change can break, in a few minutes. Arguments go to vitest.
import { browser, faults, format, imports, lintChanged, tests, types, warnWithoutBrowser } from './lib/checks.mjs';
import { installed } from './lib/setup.mjs';
import { runStages, together } from './lib/stages.mjs';
import { root } from './lib/tools.mjs';

/** Kills of a server, of workers and of PostgreSQL; all rows run in `npm run test:full`. */
const KILLS = ['--only', '1,2,5'];

process.chdir(root);
await installed();
await runStages('npm test', [
  ['browser', browser],
  ['types and format', together(types, format)],
  ['lint of what has changed, and imports', together(lintChanged, imports)],
  ['tests', tests(['quick', 'alone'], process.argv.slice(2))],
  // Without other tests: it measures how fast the service comes back.
  ['faults', faults(KILLS)],
]);
warnWithoutBrowser('npm test');
