import type { Fault } from '../fault.js';
import { killServer } from './01-kill-server.js';
import { killWorkers } from './02-kill-workers.js';
import { crashPostgres } from './05-crash-postgres.js';

/** Every row of the table, one line each. */
export const FAULTS: readonly Fault[] = [killServer, killWorkers, crashPostgres];
