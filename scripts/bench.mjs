import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ready } from './lib/setup.mjs';
import { root, run, runNpm, runTool } from './lib/tools.mjs';

/**
 * Measures this service beside its peers (docs/performance.md says how). The peers live in tools/bench/, which is no workspace of this
 * repository: whoever runs or tests the product never installs them.
 */
const bench = join(root, 'tools/bench');

await ready();
if (!isInstalled()) {
  console.error('installing the peers (npm ci in tools/bench/) ...');
  if ((await runNpm(['ci', '--prefix', bench, '--no-audit', '--no-fund'])) !== 0) process.exit(1);
}
if ((await runTool('typescript', 'tsc', ['-p', bench])) !== 0) process.exit(1);
process.exit(await run(process.execPath, [join(bench, 'dist', 'main.js'), ...process.argv.slice(2)]));

/** npm writes its own lock file when everything else is in place; if the versions agree, there is nothing to do. */
function isInstalled() {
  const wanted = packagesIn(join(bench, 'package-lock.json'));
  const found = packagesIn(join(bench, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
  );
}

function packagesIn(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
}
