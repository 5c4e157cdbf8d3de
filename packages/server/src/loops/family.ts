import type { Logger } from 'pino';
import type { FamilySweep } from '../engine/jobs/family-sweep.js';
import { createLoop, type Loop } from './loop.js';

/** The janitor wakes it long before. */
const UNWOKEN_MS = 300_000;

/**
 * Wakes parents whose children have ended where a process died before it could, and cancels the children of cancelled
 * parents. The janitor of every process wakes it at each sweep, if there are parents at all; several may run at once.
 */
export function createFamilyLoop(family: FamilySweep, logger: Logger): Loop {
  const loop = createLoop(
    'family',
    UNWOKEN_MS,
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
