import { runBuilt } from './lib/setup.mjs';

/** Sends broken requests to a server of its own (docs/fuzzing.md). */
process.exit(await runBuilt('tools/fuzz', process.argv.slice(2)));
