import { join } from 'node:path';
import { buildAll, installed } from './lib/setup.mjs';
import { root, run } from './lib/tools.mjs';

/** Sends broken requests to a server of its own (docs/fuzzing.md). */
await installed();
if ((await buildAll()) !== 0) process.exit(1);
process.exit(await run(process.execPath, [join(root, 'packages/fuzz/dist/main.js'), ...process.argv.slice(2)]));
