import type { Logger } from 'pino';
import { LEAD_MS, LOOK_EVERY_MS, type CronFirer, type Round } from '../engine/crons/cron-firer.js';
import type { Hub } from '../engine/shared/hub.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Wakes shortly before the next schedule is due, plans, fires it at its instant, and goes back to sleep. It runs in every process that works
 * (`worker` and `all`); any number of them share the schedules, since each firing is a compare-and-swap. A schedule that some process creates
 * or resumes can be due before the one this process sleeps for: the statement that does it sends word.
 */

/** Without news of others, looking this often keeps every firing within a second of its instant. */
export const UNTOLD_MS = 800;
/** Something is due and others are at it: their commit is a moment away, and asking at once would only find them at it again. */
const CONTENDED_MS = 25;
/** Thousands of schedules created in a row make one look each of these, not one each. */
const GATHER_MS = 200;

type Ears = Pick<Hub, 'onCrons' | 'listening'>;

export function createCronScheduler(firer: Pick<CronFirer, 'fireDue'>, hub: Ears, logger: Logger): Loop {
  /** The database's instant at which it will be up again. Before the first look: never, so that nothing is missed. */
  let upAtMs = Infinity;
  const run = async (): Promise<number> => {
    upAtMs = Infinity;
    const round = await firer.fireDue();
    for (const { id, error, paused } of round.broken)
      logger.error(
        { err: error, cron: id },
        `a schedule could not be fired; it ${paused ? 'was paused' : 'stays due'}`,
      );
    const sleepMs = sleepAfter(round, hub.listening);
    upAtMs = round.nowMs + sleepMs;
    return sleepMs;
  };
  const loop = createLoop('cron scheduler', UNTOLD_MS, run, logger);
  const unsubscribe = hub.onCrons((occurrenceMs) => {
    if (occurrenceMs === null || occurrenceMs < upAtMs) loop.wake(GATHER_MS);
  });
  return {
    ...loop,
    stop: async () => {
      unsubscribe();
      await loop.stop();
    },
  };
}

/** After a round that fired something there may be more: the next occurrence of what was late, or what the round had no room for. */
export function sleepAfter({ due, fired, broken, waitMs }: Omit<Round, 'nowMs'>, listening: boolean): number {
  if (fired > 0) return 0;
  const longest = broken.length > 0 || !listening ? UNTOLD_MS : LOOK_EVERY_MS;
  if (due > broken.length) return CONTENDED_MS;
  if (waitMs === null) return longest;
  // A timer counts whole milliseconds; one too many is late by one, one too few is a look in vain.
  const untilUpMs = waitMs > LEAD_MS ? waitMs - LEAD_MS : Math.max(waitMs, 0) + 1;
  return Math.min(Math.ceil(untilUpMs), longest);
}
