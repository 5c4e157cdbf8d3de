import { join } from 'node:path';
import { buildPackage, installed } from './lib/setup.mjs';
import { root, run } from './lib/tools.mjs';

/** Breaks the service in every way that docs/reliability.md names, and looks whether anything was lost. */
await installed();
if ((await buildPackage('tools/chaos')) !== 0) process.exit(1);
process.exit(await run(process.execPath, [join(root, 'tools/chaos/dist/main.js'), ...process.argv.slice(2)]));
