import type { Logger } from 'pino';
import { LEAD_MS, LOOK_EVERY_MS, type CronFirer, type Round } from '../engine/crons/cron-firer.js';
import type { Hub } from '../engine/shared/hub.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Wakes shortly before the next schedule is due, plans the firing, fires on time, and goes back to sleep. It runs in
 * every process that has workers (modes `worker` and `all`); any number of them share the schedules, since each firing
 * is a compare-and-swap. A schedule that another process creates or resumes may be due before the one this process is
 * sleeping for, so that statement also notifies.
 */

/** Without notifications, looking this often keeps every firing within a second of its instant. */
export const POLL_UNNOTIFIED_MS = 800;
/** Something is due, but other processes are firing it and about to commit: an immediate look would find nothing. */
const CONTENDED_MS = 25;
/** Thousands of schedules created in a row cause one look per interval, not one look each. */
const GATHER_MS = 200;

export function createCronScheduler(
  firer: Pick<CronFirer, 'fireDue'>,
  hub: Pick<Hub, 'onCrons' | 'listening'>,
  logger: Logger,
): Loop {
  /** When the loop will wake, in the database's time. Infinity before the first look, so that nothing is missed. */
  let wakesAtMs = Infinity;
  const run = async (): Promise<number> => {
    wakesAtMs = Infinity;
    const round = await firer.fireDue();
    for (const { id, error, paused } of round.broken)
      logger.error(
        { err: error, cron: id },
        `a schedule could not be fired; it ${paused ? 'was paused' : 'stays due'}`,
      );
    const sleepMs = sleepAfter(round, hub.listening);
    wakesAtMs = round.nowMs + sleepMs;
    return sleepMs;
  };
  const loop = createLoop('cron scheduler', POLL_UNNOTIFIED_MS, run, logger);
  const unsubscribe = hub.onCrons((occurrenceMs) => {
    if (occurrenceMs === null || occurrenceMs < wakesAtMs) loop.wake(GATHER_MS);
  });
  return {
    ...loop,
    stop: async () => {
      unsubscribe();
      await loop.stop();
    },
  };
}

/** A round that fired something may leave more: the next occurrence of a late schedule, or what exceeded the round. */
export function sleepAfter({ due, fired, broken, waitMs }: Omit<Round, 'nowMs'>, listening: boolean): number {
  if (fired > 0) return 0;
  const longest = broken.length > 0 || !listening ? POLL_UNNOTIFIED_MS : LOOK_EVERY_MS;
  if (due > broken.length) return CONTENDED_MS;
  if (waitMs === null) return longest;
  // Timers count whole milliseconds: one too many fires a millisecond late, one too few wakes before anything is due.
  const untilWakeMs = waitMs > LEAD_MS ? waitMs - LEAD_MS : Math.max(waitMs, 0) + 1;
  return Math.min(Math.ceil(untilWakeMs), longest);
}
