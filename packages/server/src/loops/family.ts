import type { Logger } from 'pino';
import type { FamilySweep } from '../engine/jobs/family-sweep.js';
import { SWEEP_MS } from './janitor.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Wakes parents whose children have ended where a process died before it could, and cancels the children of cancelled
 * parents. It runs in every process, like the janitor; several may run at once.
 */
export function createFamilyLoop(family: FamilySweep, logger: Logger, sweepMs = SWEEP_MS): Loop {
  const loop = createLoop(
    'family',
    sweepMs,
    async () => {
      const jobs = await family.run();
      if (jobs > 0) logger.info({ jobs }, 'cancelled children of cancelled jobs');
    },
    logger,
  );
  return {
    ...loop,
    stop: async () => {
      await loop.stop();
      await family.settled();
    },
  };
}
