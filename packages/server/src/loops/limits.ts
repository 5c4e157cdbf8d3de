import type { Logger } from 'pino';
import type { Maintenance } from '../engine/jobs/maintenance.js';
import type { Admitter } from '../engine/limits/admitter.js';
import type { Mending } from '../engine/limits/mending.js';
import type { QueueGates } from '../engine/leases/queue-gates.js';
import type { Expiry } from '../engine/outcomes/expiry.js';
import type { Hub } from '../engine/shared/hub.js';
import { createLoop, type Loop } from './loop.js';

/** While limits are in use, what another process left to do when it died is found within a second. */
const USED_MS = 1_000;
const SWEEP_MS = 5_000;
/** Sleepers that come one by one share a look. */
const SLEPT_MS = 20;
const MEND_SECS = 60;

export interface LimitsWork {
  readonly admitter: Admitter;
  readonly mending: Mending;
  readonly gates: QueueGates;
  readonly expiry: Expiry;
  readonly maintenance: Maintenance;
  readonly hub: Hub;
}

/**
 * Wakes jobs with limits that have fallen due, looks at every limit about which there are notes, removes limits that
 * nobody uses any more and unique keys whose jobs have ended, ends jobs that have expired, and puts right what
 * processes of earlier versions left wrong. Where no job has limits or expires it is one statement every five seconds.
 */
export function createLimitsLoop(
  { admitter, mending, gates, expiry, maintenance, hub }: LimitsWork,
  logger: Logger,
  sweepMs = SWEEP_MS,
): Loop {
  let droppedAt = -Infinity;
  let mendedAt = -Infinity;
  let uniqueAt = -Infinity;
  const dropUnique = async (now: number): Promise<void> => {
    if (now - uniqueAt < sweepMs) return;
    uniqueAt = now;
    await admitter.dropEndedUnique();
  };
  const dropUnused = async (now: number): Promise<void> => {
    if (now - droppedAt < sweepMs) return;
    droppedAt = now;
    await admitter.dropUnused();
  };
  /** Returns whether it has not come to its end. */
  const mend = async (now: number): Promise<boolean> => {
    if (mending.isOver) {
      if (now - mendedAt < MEND_SECS * 1000) return false;
      mendedAt = now;
      if (!(await maintenance.takeTurn('limits', MEND_SECS))) return false;
      mending.begin();
    }
    const mended = await mending.step();
    if (mended > 0)
      logger.warn(
        { limits: mended },
        'counted again how many jobs run under limits: some room had not been given back',
      );
    return !mending.isOver;
  };
  const lookAtQueues = async (): Promise<boolean> => {
    await gates.learn();
    return gates.lines.sweep();
  };
  const loop = createLoop(
    'limits',
    sweepMs,
    async () => {
      const { nextMs, inUse, expired, uniqueUsed, queuesLimited } = await admitter.sweep();
      // Each of them does a part of what there is, however much that is: who falls due meanwhile comes before the rest.
      const unsorted = (queuesLimited || gates.inUse) && (await lookAtQueues());
      const unended = expired && (await expiry.sweep());
      if (uniqueUsed) await dropUnique(performance.now());
      if (inUse) await dropUnused(performance.now());
      const unmended = inUse && (await mend(performance.now()));
      return unsorted || unended || unmended ? 0 : Math.min(nextMs ?? Infinity, inUse ? USED_MS : sweepMs);
    },
    logger,
  );
  const stopListening = hub.onLimits(({ slept }) => loop.wake(slept ? SLEPT_MS : USED_MS));
  return {
    ...loop,
    stop: async () => {
      stopListening();
      await loop.stop();
      await gates.stop();
      await admitter.stop();
    },
  };
}
