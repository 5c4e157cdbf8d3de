import type { Fault } from '../fault.js';
import { killServer } from './01-kill-server.js';
import { killWorkers } from './02-kill-workers.js';
import { zombieWorkers } from './03-zombie-workers.js';
import { stoppedServer } from './04-stopped-server.js';
import { crashPostgres } from './05-crash-postgres.js';
import { terminatedBackends } from './06-terminated-backends.js';
import { wrongClock } from './07-wrong-clock.js';
import { blackHole } from './08-black-hole.js';
import { slowLink } from './10-slow-link.js';
import { splitFleet } from './13-split-fleet.js';
import { cronSchedulers } from './16-cron-schedulers.js';

/** Every row of the table, one line each; those that take longest stand where they start early. */
// prettier-ignore
export const FAULTS: readonly Fault[] = [
  killServer,
  killWorkers,
  zombieWorkers,
  stoppedServer,
  crashPostgres,
  terminatedBackends,
  wrongClock,
  blackHole,
  slowLink,
  splitFleet,
  cronSchedulers,
];
