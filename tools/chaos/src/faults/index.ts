import type { Fault } from '../fault.js';
import { killServer } from './01-kill-server.js';
import { killWorkers } from './02-kill-workers.js';
import { zombieWorkers } from './03-zombie-workers.js';
import { stoppedServer } from './04-stopped-server.js';
import { crashPostgres } from './05-crash-postgres.js';
import { terminatedBackends } from './06-terminated-backends.js';
import { wrongClock } from './07-wrong-clock.js';
import { blackHole } from './08-black-hole.js';
import { lostAnswers } from './09-lost-answers.js';
import { slowLink } from './10-slow-link.js';
import { manyWaiting } from './11-many-waiting.js';
import { pgbouncer } from './12-pgbouncer.js';
import { splitFleet } from './13-split-fleet.js';
import { rollingRestart } from './14-rolling-restart.js';
import { startTogether } from './15-start-together.js';
import { cronSchedulers } from './16-cron-schedulers.js';
import { settleRaces } from './17-settle-races.js';
import { cancelRaces } from './18-cancel-races.js';
import { replayRaces } from './19-replay-races.js';
import { fanIn } from './20-fan-in.js';
import { oneKey } from './21-one-key.js';
import { manyLessees } from './22-many-lessees.js';
import { collisions } from './23-collisions.js';
import { idleTransaction } from './24-idle-transaction.js';
import { soak } from './25-soak.js';
import { failover } from './26-failover.js';
import { overload } from './27-overload.js';
import { largeJobs } from './28-large-jobs.js';
import { largeContext } from './29-large-context.js';
import { limits } from './46-limits.js';
import { resumeKills } from './47-resume-kills.js';
import { childrenKills } from './48-children-kills.js';
import { turns } from './49-turns.js';
import { queueLimits } from './50-queue-limits.js';
import { uniqueKeys } from './51-unique-keys.js';
import { waitKills } from './52-wait-kills.js';
import { scheduledWorkflows } from './53-scheduled-workflows.js';
import { lostCells } from './54-lost-cells.js';
import { wrongLists } from './55-wrong-lists.js';
import { splitCell } from './56-split-cell.js';
import { cronOverCells } from './57-cron-over-cells.js';
import { cellFailover } from './58-cell-failover.js';
import { manyPriorities } from './30-many-priorities.js';
import { lockedTable } from './31-locked-table.js';
import { changedSchema } from './32-changed-schema.js';
import { distantDatabase } from './33-distant-database.js';
import { killerJob } from './34-killer-job.js';
import { hostileTenant } from './35-hostile-tenant.js';
import { replacedSchedule } from './36-replaced-schedule.js';
import { bulkCancel } from './37-bulk-cancel.js';
import { stoppedSdkWorkers } from './38-stopped-sdk-workers.js';
import { upgrade } from './39-upgrade.js';
import { costlyRequests } from './40-costly-requests.js';
import { manyNames } from './41-many-names.js';
import { outboxKills } from './42-outbox-kills.js';
import { outboxRelays } from './43-outbox-relays.js';
import { durableKills } from './44-durable-kills.js';
import { checkpointRaces } from './45-checkpoint-races.js';

/** Every row of the table, one per line; those that take longest come where they start early. */
// prettier-ignore
export const FAULTS: readonly Fault[] = [
  collisions,
  blackHole,
  soak,
  cronSchedulers,
  replacedSchedule,
  bulkCancel,
  killerJob,
  slowLink,
  terminatedBackends,
  stoppedSdkWorkers,
  splitFleet,
  crashPostgres,
  durableKills,
  childrenKills,
  waitKills,
  turns,
  queueLimits,
  scheduledWorkflows,
  outboxKills,
  outboxRelays,
  killWorkers,
  wrongClock,
  killServer,
  zombieWorkers,
  stoppedServer,
  lostAnswers,
  manyWaiting,
  settleRaces,
  checkpointRaces,
  cancelRaces,
  replayRaces,
  fanIn,
  oneKey,
  manyLessees,
  pgbouncer,
  rollingRestart,
  upgrade,
  startTogether,
  idleTransaction,
  failover,
  splitCell,
  cellFailover,
  lostCells,
  wrongLists,
  cronOverCells,
  overload,
  largeJobs,
  largeContext,
  manyPriorities,
  lockedTable,
  changedSchema,
  distantDatabase,
  hostileTenant,
  costlyRequests,
  manyNames,
  limits,
  uniqueKeys,
  resumeKills,
];
