import { join } from 'node:path';
import { buildAll, installed } from './lib/setup.mjs';
import { root, run } from './lib/tools.mjs';

/** Checks the SDK's worker, or the worker after `--`, against the conformance kit (docs/conformance.md). */
const SDK_WORKER = [process.execPath, join(root, 'packages/sdk/test/conformance/worker.mjs')];

await installed();
const built = await buildAll();
if (built !== 0) process.exit(built);
const args = process.argv.slice(2);
const command = args.includes('--') ? [] : ['--', ...SDK_WORKER];
process.exit(
  await run(process.execPath, [join(root, 'packages/conformance/bin/millrace-conformance.mjs'), ...args, ...command]),
);
