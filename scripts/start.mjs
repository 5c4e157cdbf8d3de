// `npm start`: installs and builds what is missing, then is the service, in this very process, so that signals reach it.
import { ready } from './lib/setup.mjs';

await ready({ build: ['packages/cli'] });
const { run } = await import('../packages/cli/dist/main.js');
await run({ underNpm: process.env.npm_lifecycle_event !== undefined });
