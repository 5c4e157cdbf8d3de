/**
 * `npm run map`: whether docs/architecture.md leads to the right file. It takes some places that its tables name, makes
 * each throw instead of doing its work, and expects a test of its row to fail. Nothing is changed on disk.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPackage, installed } from './lib/setup.mjs';
import { root, wholeNumber } from './lib/tools.mjs';

const USAGE = `npm run map -- [flags]

  --places N   how many places to break (default 12)
  --seed N     which (default: drawn, and printed)
  --all        every place
  --only TEXT  those of rows whose text has this, and of files whose path does
`;

const { values } = parseArgs({
  options: {
    places: { type: 'string', default: '12' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    all: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

/** The ends of the names of test files, and the group of vitest.config.ts that each belongs to. */
const GROUPS = { '': 'quick', '.alone': 'alone', '.full': 'full', '.full-alone': 'full-alone' };
/** A test that starts programs runs what was built, which is not broken. */
const STARTS_PROGRAMS = /spawnMillrace|\bspawn\(|execFile|MILLRACE_BROWSER|useBrowser/;

await installed();
if ((await buildPackage('tools/shared')) !== 0) process.exit(1);
const { Random, readMap } = await import('../tools/shared/dist/index.js');
const { brokenSource } = await import('../tools/shared/dist/broken-export.js');

const candidates = readMap(read('docs/architecture.md')).flatMap(placesToBreak);
const chosen = values.all || values.only !== '' ? candidates : drawn(candidates);
console.log(`${chosen.length} of ${candidates.length} places, seed ${values.seed}`);
const unproven = [];
for (const place of chosen) {
  const startedAt = performance.now();
  const isRed = await turnsRed(place);
  if (!isRed) unproven.push(place);
  const secs = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${isRed ? 'red  ' : 'GREEN'}  ${place.file} (${place.name}): ${place.what}  [${secs} s]`);
}
console.log(`${chosen.length - unproven.length} of ${chosen.length} places are where the behaviour is`);
process.exit(unproven.length === 0 ? 0 : 1);

/** The places of a row that have code to break, with tests that run it. */
function placesToBreak({ what, places, tests }) {
  const files = tests.flatMap(filesOf).filter(({ file }) => !STARTS_PROGRAMS.test(read(file)));
  if (files.length === 0) return [];
  return places
    .filter(({ file, name }) => name !== null && `${what} ${file}`.includes(values.only))
    .filter(({ file, name }) => brokenSource(read(file), name) !== null)
    .map((place) => ({ ...place, what, tests: files }));
}

function filesOf(test) {
  const all = Object.entries(GROUPS).map(([end, group]) => ({ file: `${test}${end}.test.ts`, group }));
  return all.filter(({ file }) => existsSync(join(root, file)));
}

function drawn(all) {
  const random = new Random(wholeNumber('seed', values.seed));
  const left = [...all];
  const count = Math.min(wholeNumber('places', values.places), left.length);
  return Array.from({ length: count }, () => left.splice(random.below(left.length), 1)[0]);
}

function turnsRed({ file, name, tests }) {
  const groups = [...new Set(tests.map(({ group }) => `--project=${group}`))];
  const args = ['run', ...groups, '--bail=1', '--reporter=dot', ...tests.map((test) => test.file)];
  const env = { ...process.env, MILLRACE_BREAK: `${file}#${name}`, MILLRACE_TEST_PATIENCE_SECS: '15' };
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(process.execPath, [vitest, ...args], { cwd: root, env, stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code !== 0));
  });
}

function read(path) {
  return readFileSync(join(root, path), 'utf8');
}
