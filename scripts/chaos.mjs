import { runBuilt } from './lib/setup.mjs';

/** Breaks the service in every way that docs/reliability.md lists, and checks that nothing was lost. */
process.exit(await runBuilt('tools/chaos', process.argv.slice(2)));
