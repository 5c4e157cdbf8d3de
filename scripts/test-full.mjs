// `npm run test:full`: what `npm test` leaves out because it takes long. Arguments go to vitest.
import {
  browser,
  cells,
  faults,
  format,
  imports,
  lintRest,
  lintServer,
  tests,
  types,
  warnWithoutBrowser,
} from './lib/checks.mjs';
import { python, warnWithoutPython } from './lib/python.mjs';
import { installed } from './lib/setup.mjs';
import { runStages, together } from './lib/stages.mjs';
import { root } from './lib/tools.mjs';

process.chdir(root);
await installed();
await runStages('npm run test:full', [
  ['browser', browser],
  ['types', types],
  ['lint, format and imports', together(lintServer, lintRest, format, imports)],
  ['long tests', tests(['full', 'properties', 'full-alone'], process.argv.slice(2))],
  ['tests on four databases', cells],
  ['faults', faults],
  ['python', python],
]);
warnWithoutBrowser('npm run test:full');
warnWithoutPython('npm run test:full');
