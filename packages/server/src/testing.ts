/**
 * For the tools alone (tools/). The fault suite replays histories through the table of transitions, and builds
 * PostgreSQL servers that it can crash from the parts of the embedded one. The benchmark runs statements, arrays and
 * routes of the service without the rest of it, to measure their limits. No program that embeds the service needs any
 * of this.
 */
export { bucketOf, createdAtOf, idsWith, idSuffix } from './domain/ids.js';
export { isTerminal, nextState, type JobEvent } from './domain/job-state.js';
export { addressOf, type Address } from './embedded/address.js';
export { pathForPrograms, readPassword } from './embedded/data-directory.js';
export { prepareLaunch } from './embedded/launch.js';
export { ensureRunning, postmasterState, stopPostmaster, type Launch } from './embedded/postmaster.js';
export { run as runProgram, CLEAN_ENVIRONMENT } from './embedded/run.js';
export type { Settings } from './embedded/settings.js';
export type { Engine } from './engine/api.js';
export { createApp } from './http/app.js';
export { boolArray, int4Array, jsonArray, plainArray, textArray, uuidArray } from './store/arrays.js';
export { Database } from './store/connection/database.js';
export { loadStatements, type Statement } from './store/sql.js';
export { Metrics } from './telemetry/metrics.js';
