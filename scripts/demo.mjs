import { runBuilt } from './lib/setup.mjs';

/** Fills a development server with realistic traffic and keeps it moving (docs/dashboard.md). */
process.exit(await runBuilt('tools/demo', process.argv.slice(2)));
