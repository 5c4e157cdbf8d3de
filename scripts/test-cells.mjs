// `npm run test:cells`: tests of the API with the service on four databases. Arguments are folders of tests.
import { spawn } from 'node:child_process';
import { installed } from './lib/setup.mjs';
import { root } from './lib/tools.mjs';

const FOLDERS = ['engine', 'http', 'loops', 'pool', 'relay', 'telemetry', 'wiring'].map(
  (folder) => `packages/server/test/${folder}`,
);

/** Each with a tenant of the tests: tenant1 (46585), tenant-b (47933), tenant-a (48712), and default (51429). */
const RANGES = '0-46999,47000-48299,48300-50999,51000-65535';

/** The service says something else there with several databases, as documented. Everything else must be as with one. */
const DIFFERENT = [
  // `in_use` counts the jobs in the database of the caller (docs/http-api.md).
  'counts slots in use whoever uses them, beside the jobs of the caller',
  // So does `ahead`.
  'counts the jobs of all tenants that are ahead of it',
  // Each database keeps its counts for a while of its own.
  'are counted again after a second or two, with what is cheap to know as it is now',
];

process.chdir(root);
await installed();
const folders = process.argv.length > 2 ? process.argv.slice(2) : FOLDERS;
const literally = (text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
const others = `^(?!.*(?:${DIFFERENT.map(literally).join('|')}))`;
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'quick', '-t', others, ...folders];
const env = { ...process.env, MILLRACE_TEST_CELLS: RANGES };
spawn(process.execPath, vitest, { stdio: 'inherit', env }).once('exit', (code) => process.exit(code ?? 1));
