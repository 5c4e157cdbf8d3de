import type { Logger } from 'pino';
import type { CronFirer, Round } from '../engine/cron-firer.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Wakes when the next schedule is due, fires it, and goes back to sleep. It runs in every process that works (`worker` and `all`); any
 * number of them share the schedules, since each firing is a compare-and-swap.
 */

/**
 * A schedule that another process created or resumed can be due before the one this process sleeps for. Looking this often keeps every firing
 * within a second of its instant and costs an idle process one cheap statement each time.
 */
export const MAX_SLEEP_MS = 800;
/** Something is due and others are at it: their commit is a moment away, and asking at once would only find them at it again. */
const CONTENDED_MS = 25;

export function createCronScheduler(firer: Pick<CronFirer, 'fireDue'>, logger: Logger): Loop {
  const run = async (): Promise<number> => {
    const round = await firer.fireDue();
    for (const { id, error, paused } of round.broken)
      logger.error(
        { err: error, cron: id },
        `a schedule could not be fired; it ${paused ? 'was paused' : 'stays due'}`,
      );
    return sleepAfter(round);
  };
  return createLoop('cron scheduler', MAX_SLEEP_MS, run, logger);
}

/** After a round that fired something there may be more: the next occurrence of what was late, or what the round had no room for. */
export function sleepAfter({ due, fired, broken, waitMs }: Round): number {
  if (fired > 0) return 0;
  if (broken.length > 0) return MAX_SLEEP_MS;
  if (due > 0) return CONTENDED_MS;
  // A timer counts whole milliseconds; one too many is late by one, one too few is a look in vain.
  return Math.min(Math.ceil(Math.max(waitMs ?? MAX_SLEEP_MS, 0)) + 1, MAX_SLEEP_MS);
}
