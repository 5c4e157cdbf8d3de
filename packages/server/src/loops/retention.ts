import type { Logger } from 'pino';
import type { Maintenance } from '../engine/jobs/maintenance.js';
import type { RetentionPass } from '../engine/jobs/retention-pass.js';
import { createLoop, type Loop } from './loop.js';

/**
 * Removes what is older than the retention window, and what streams and bundles leave behind. Only one process does
 * so at a time: the one that takes the turn.
 *
 * A pass has no time limit. It keeps its turn while it runs, so that no other process begins a second pass, and it can
 * be stopped between two statements. A pass that failed resumes where it was when this process next has the turn. After
 * a pass that found something, the next one follows a minute later. A pass that found nothing has still cost one index
 * probe per tenant, so the loop then rests for 25 times as long as the pass took, and keeps the turn for that time too.
 */
const PERIOD_MS = 60_000;
/** A little less than the period, so that the same process can take the turn again. */
const TURN_SECS = 55;
const KEEP_MS = 10_000;
const REST = 25;
const MAX_REST_SECS = 3_600;
/** Beyond this delay, the service finishes jobs faster than retention removes them. */
const LATE_SECS = 900;

export function createRetention(maintenance: Maintenance, retentionHours: number | null, logger: Logger): Loop {
  let isStopping = false;
  let pass: RetentionPass | null = null;
  let passes = 0;

  /** Returns false if it was stopped before the end. */
  const finish = async (current: RetentionPass): Promise<boolean> => {
    let keptAt = performance.now();
    while (!current.isOver) {
      if (isStopping) return false;
      await current.step();
      if (performance.now() - keptAt < KEEP_MS) continue;
      keptAt = performance.now();
      maintenance.noteRetentionLag(current.overdueSecs);
      await maintenance.keepTurn('retention');
    }
    return true;
  };

  const report = ({ removed, overdueSecs, foundNothing }: RetentionPass): void => {
    maintenance.noteRetentionLag(overdueSecs);
    if (!foundNothing) logger.info(removed, 'removed what was older than the retention window');
    // The first pass after startup, or after retention was switched on, may well find rows that are long overdue.
    if (passes++ > 0 && overdueSecs > LATE_SECS)
      logger.warn(
        { overdueSecs: Math.round(overdueSecs) },
        'retention does not keep up with what the service finishes',
      );
  };

  const loop = createLoop(
    'retention',
    PERIOD_MS,
    async () => {
      if (await maintenance.takeTurn('traces', TURN_SECS)) await maintenance.forgetTraces();
      // Only a process with a retention window takes this turn: one that keeps everything would waste it.
      if (retentionHours === null || !(await maintenance.takeTurn('retention', TURN_SECS))) return;
      const startedAt = performance.now();
      pass ??= maintenance.beginRetentionPass(retentionHours);
      if (!(await finish(pass))) return;
      report(pass);
      const restSecs = pass.foundNothing ? (REST * (performance.now() - startedAt)) / 1000 : 0;
      pass = null;
      const nextInSecs = Math.min(MAX_REST_SECS, Math.max(PERIOD_MS / 1000, restSecs));
      await maintenance.keepTurn('retention', nextInSecs - TURN_SECS);
    },
    logger,
  );
  return {
    ...loop,
    stop: () => {
      isStopping = true;
      return loop.stop();
    },
  };
}
