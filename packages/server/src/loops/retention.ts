import type { Logger } from 'pino';
import type { Maintenance } from '../engine/jobs/maintenance.js';
import { createLoop, type Loop } from './loop.js';

/** Once a minute, by one process of the fleet: removes what is older than the retention window, and what streams and bundles left behind. */
const PERIOD_MS = 60_000;
/** A little less than the period, so that the same process finds its turn again. */
const TURN_SECS = 55;

export function createRetention(maintenance: Maintenance, retentionHours: number | null, logger: Logger): Loop {
  return createLoop(
    'retention',
    PERIOD_MS,
    async () => {
      if (await maintenance.takeTurn('traces', TURN_SECS)) await maintenance.forgetTraces();
      // Only who would remove something takes that turn: a process that keeps everything must not have it and do nothing with it.
      if (retentionHours === null || !(await maintenance.takeTurn('retention', TURN_SECS))) return;
      const removed = await maintenance.removeExpired(retentionHours);
      if (Object.values(removed).some((n) => n > 0))
        logger.info(removed, 'removed what was older than the retention window');
    },
    logger,
  );
}
