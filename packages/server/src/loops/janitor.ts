import type { Logger } from 'pino';
import type { Maintenance } from '../engine/jobs/maintenance.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Reclaims jobs whose lease has expired. It runs in every process and every mode, because a deployment with remote
 * workers only must reclaim jobs too. Several janitors may run at once, since each settlement is fenced; they take no
 * turns. Where there is nothing to reclaim it is one statement, which also says whether other loops have anything to
 * do: those may take longer, and no expired lease waits for them.
 */
export const SWEEP_MS = 5_000;

/** Loops that need not look by themselves whether there is anything to do. */
export interface Woken {
  readonly family: Loop;
  readonly stepWaits: Loop;
}

export function createJanitor(
  maintenance: Maintenance,
  { family, stepWaits }: Woken,
  logger: Logger,
  sweepMs = SWEEP_MS,
): Loop {
  return createLoop(
    'janitor',
    sweepMs,
    async () => {
      const { reclaimed, parents, waits } = await maintenance.sweep();
      if (parents) family.wake();
      if (waits) stepWaits.wake();
      if (reclaimed > 0) logger.info({ jobs: reclaimed }, 'reclaimed jobs whose lease had expired');
    },
    logger,
  );
}
