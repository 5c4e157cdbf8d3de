// `npm test`: every check. Arguments go to vitest.
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { findBrowser } from './lib/browser.mjs';
import { buildAll, installed } from './lib/setup.mjs';
import { root, run, runTool } from './lib/tools.mjs';

/** What reads the sources alone takes what others leave of the processor. */
const BESIDE = { niceness: 19 };

const lint = () => runTool('eslint', 'eslint', ['.', '--max-warnings', '0'], BESIDE);
const format = () => runTool('prettier', 'prettier', ['--check', '--log-level', 'warn', '.'], BESIDE);
const imports = () => {
  const options = ['--config', '.dependency-cruiser.cjs', '--output-type', 'err'];
  return runTool('dependency-cruiser', 'depcruise', ['packages', 'tools', ...options], BESIDE);
};

/** Both follow imports into what the compiler has made. */
const readings = async () => (await imports()) || lint();
let reading = null;

/** The exit code of the first that failed, after all of them have ended; else 0. */
const allOf = async (checks) => (await Promise.all(checks.map((check) => check()))).find((code) => code !== 0) ?? 0;

const tests = async () => {
  const found = await browser;
  if (found !== null) process.env.MILLRACE_BROWSER = found;
  return runTool('vitest', 'vitest', ['run', ...process.argv.slice(2)]);
};

const faults = () => run(process.execPath, [join(root, 'tools/chaos/dist/main.js'), '--short']);

const stages = [
  ['types', buildAll],
  [
    'tests',
    () => {
      reading = readings();
      return tests();
    },
  ],
  // Without other tests: it measures how fast the service comes back.
  ['faults', faults],
  ['lint, format and imports, begun beside the tests', () => allOf([() => reading, () => formatted])],
];

process.chdir(root);
await installed();

/** Beside the first stages: they may take as long as those do. */
const browser = findBrowser();
const formatted = format();

const results = [];
for (const [name, stage] of stages) {
  console.log(`\n> ${name}`);
  const started = performance.now();
  const code = await stage();
  results.push(`${name} ${((performance.now() - started) / 1000).toFixed(1)} s`);
  if (code !== 0) {
    await reading;
    console.error(`\nnpm test: ${name} failed (after ${results.join(', ')})`);
    process.exit(1);
  }
}
console.log(`\nnpm test: all passed (${results.join(', ')})`);
if ((await browser) === null)
  console.error('\nnpm test: WITHOUT the tests of the dashboard: there is no Chromium or Chrome here.');
