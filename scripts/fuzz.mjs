import { join } from 'node:path';
import { buildAll, installed } from './lib/setup.mjs';
import { root, run } from './lib/tools.mjs';

/** Throws broken requests at a server of its own (docs/fuzzing.md). */
await installed();
if ((await buildAll()) !== 0) process.exit(1);
process.exit(await run(process.execPath, [join(root, 'tools/fuzz/dist/main.js'), ...process.argv.slice(2)]));
