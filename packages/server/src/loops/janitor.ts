import type { Logger } from 'pino';
import type { Maintenance } from '../engine/jobs/maintenance.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Reclaims jobs whose lease has expired. It runs in every process and every mode, because a deployment with remote
 * workers only must reclaim jobs too. Several janitors may run at once, since each settlement is fenced; they take no
 * turns.
 */
export const SWEEP_MS = 5_000;

export function createJanitor(maintenance: Maintenance, logger: Logger, sweepMs = SWEEP_MS): Loop {
  return createLoop(
    'janitor',
    sweepMs,
    async () => {
      const n = await maintenance.reclaimExpired();
      if (n > 0) logger.info({ jobs: n }, 'reclaimed jobs whose lease had expired');
    },
    logger,
  );
}
