// `npm test`: what a change can break, in a few minutes. Arguments go to vitest.
import { browser, kills, style, tests, types, warnWithoutBrowser } from './lib/checks.mjs';
import { installed } from './lib/setup.mjs';
import { runStages } from './lib/stages.mjs';
import { root } from './lib/tools.mjs';

process.chdir(root);
await installed();
await runStages('npm test', [
  ['browser', browser],
  ['types', types],
  ['style of what has changed', style],
  ['tests', tests(['quick', 'alone'], process.argv.slice(2))],
  // Without other tests: it measures how fast the service comes back.
  ['faults', kills],
]);
warnWithoutBrowser('npm test');
