/** The checks that `npm run check`, `npm test` and `npm run test:full` consist of; each resolves to an exit code. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findBrowser } from './browser.mjs';
import { buildAll } from './setup.mjs';
import { root, run, runTool } from './tools.mjs';

export const types = buildAll;

/** In two halves, each of which loads the types that it needs: with `--concurrency` both would load all of them. */
const LINTED_ALONE = 'packages/server';
export const lintServer = () => runTool('eslint', 'eslint', [LINTED_ALONE, '--max-warnings', '0']);
export const lintRest = () =>
  runTool('eslint', 'eslint', ['.', '--ignore-pattern', `${LINTED_ALONE}/**`, '--max-warnings', '0']);
export const format = () => runTool('prettier', 'prettier', ['--check', '--log-level', 'warn', '.']);

/** Format and lint of the files that differ from the last commit: all of them need more than a minute each. */
export const style = async () => {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const names = [...git('diff', '--name-only', 'HEAD'), ...git('ls-files', '--others', '--exclude-standard')];
  const files = names.filter((name) => name !== '' && existsSync(join(root, name)));
  if (files.length === 0) return 0;
  const formatted = await runTool('prettier', 'prettier', [
    '--check',
    '--ignore-unknown',
    '--log-level',
    'warn',
    ...files,
  ]);
  const code = files.filter((name) => /\.(ts|tsx|mjs|cjs)$/.test(name));
  if (formatted !== 0 || code.length === 0) return formatted;
  return runTool('eslint', 'eslint', ['--max-warnings', '0', '--no-warn-ignored', ...code]);
};

export const imports = () => {
  const options = ['--config', '.dependency-cruiser.cjs', '--output-type', 'err'];
  return runTool('dependency-cruiser', 'depcruise', ['packages', 'tools', ...options]);
};

/** Runs the tests of some projects of vitest.config.ts. A report for `npm run flakes` is written where it asks. */
export const tests =
  (projects, args = [], env = {}) =>
  () => {
    const report = process.env.MILLRACE_TEST_REPORT;
    const reporters = report === undefined ? [] : ['--reporter=default', '--reporter=json', `--outputFile=${report}`];
    const chosen = projects.map((project) => `--project=${project}`);
    return runTool('vitest', 'vitest', ['run', ...chosen, ...reporters, ...args], { env: { ...process.env, ...env } });
  };

/** A part of `npm run test:cells`: what takes jobs from several databases. */
const ON_CELLS = ['engine/leases', 'loops', 'pool', 'wiring'].map((folder) => `packages/server/test/${folder}`);
export const cells = () => run(process.execPath, [join(root, 'scripts/test-cells.mjs'), ...ON_CELLS]);

const chaos = (args) => () => run(process.execPath, [join(root, 'tools/chaos/dist/main.js'), ...args]);

/** Kills of a server, of workers and of PostgreSQL. */
const KILLS = '1,2,5';
export const kills = chaos(['--only', KILLS]);
/** The other rows of the fault suite's short run. */
export const faults = chaos(['--short', '--except', KILLS]);

/** Finds or installs what the dashboard's tests need. Without a browser they are skipped, and `npm test` says so. */
export async function browser() {
  const found = await findBrowser();
  if (found !== null) process.env.MILLRACE_BROWSER = found;
  return 0;
}

export function warnWithoutBrowser(command) {
  if (process.env.MILLRACE_BROWSER === undefined)
    console.error(`\n${command}: WITHOUT the tests of the dashboard: there is no Chromium or Chrome here.`);
}
