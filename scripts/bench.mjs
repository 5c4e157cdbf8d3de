import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage, installed } from './lib/setup.mjs';
import { root, run, runNpm, runTool } from './lib/tools.mjs';

/**
 * Measures the service beside its peers (see docs/performance.md). The peers are installed in tools/bench, which is not
 * a workspace of this repository: running or testing the service never installs them.
 */
const bench = join(root, 'tools/bench');

await installed();
if ((await buildPackage('tools/bench')) !== 0) process.exit(1);
if (!arePeersInstalled()) {
  console.error('installing the peers (npm ci in tools/bench) ...');
  if ((await runNpm(['ci', '--prefix', bench, '--no-audit', '--no-fund'])) !== 0) process.exit(1);
  // What src/peers.d.ts says of the peers is checked against their own types.
  if ((await runTool('typescript-native', 'tsc', ['-p', join(bench, 'tsconfig.peers.json')])) !== 0) process.exit(1);
}
process.exit(await run(process.execPath, [join(bench, 'dist', 'main.js'), ...process.argv.slice(2)]));

/** npm writes its own lockfile when everything else is in place; if the versions agree, there is nothing to do. */
function arePeersInstalled() {
  const wanted = packagesIn(join(bench, 'package-lock.json'));
  const found = packagesIn(join(bench, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || optional || found[path]?.version === version,
  );
}

function packagesIn(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {};
}
