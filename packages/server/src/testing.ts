/**
 * For the fault suite alone (tools/chaos): the table of transitions that it replays histories through, and the pieces of the embedded
 * PostgreSQL from which it builds servers that it may crash. No program that embeds the service needs any of this.
 */
export { isTerminal, nextState, type JobEvent } from './domain/job-state.js';
export { chooseAccount, type Account } from './embedded/account.js';
export { addressOf, type Address } from './embedded/address.js';
export { findBinaries, type Binaries } from './embedded/binaries.js';
export { ensureDataDirectory, pathForPrograms, readPassword } from './embedded/data-directory.js';
export { ensureRunning, postmasterState, stopPostmaster, type Launch } from './embedded/postmaster.js';
export { run as runProgram, CLEAN_ENVIRONMENT } from './embedded/run.js';
export { SETTINGS, type Settings } from './embedded/settings.js';
