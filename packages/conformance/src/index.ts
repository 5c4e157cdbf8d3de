/** The kit as a library: for tests that have a server of their own. */
export { runKit, type KitOptions, type ScenarioResult } from './kit.js';
export { json, table } from './report.js';
export { startDevServer, installedServer, type DevServer } from './stage/dev-server.js';
