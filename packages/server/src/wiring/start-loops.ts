import type { Config } from '../config/config.js';
import { createCronScheduler } from '../loops/cron-scheduler.js';
import { createFamilyLoop } from '../loops/family.js';
import { createJanitor } from '../loops/janitor.js';
import { createLimitsLoop } from '../loops/limits.js';
import type { Loop } from '../loops/loop.js';
import { createOperationsLoop } from '../loops/operations.js';
import { createRegistration } from '../loops/registration.js';
import { createRetention } from '../loops/retention.js';
import { createSeriesWriter } from '../loops/series-writer.js';
import { createStepWaitsLoop } from '../loops/step-waits.js';
import type { RunningCell } from './start-cell.js';

export interface LoopOptions {
  readonly config: Config;
  readonly tasks: readonly string[];
  readonly sweepMs?: number | undefined;
}

/** What runs at intervals, for one database. */
export function startLoops({ engine, logger, lifecycle }: RunningCell, { config, tasks, sweepMs }: LoopOptions): void {
  const { maintenance, cronFirer, hub, processes, series, workers, operationWork, family, stepEnder } = engine;
  const familyLoop = createFamilyLoop(family, logger);
  const stepWaitsLoop = createStepWaitsLoop(stepEnder, hub, logger);
  const loops: Loop[] = [
    createJanitor(maintenance, { family: familyLoop, stepWaits: stepWaitsLoop }, logger, sweepMs),
    createLimitsLoop(engine, logger, sweepMs),
    familyLoop,
    stepWaitsLoop,
    createRetention(maintenance, config.retentionHours, logger),
    createSeriesWriter(series, workers, logger),
    createOperationsLoop(operationWork, maintenance, config.retentionHours, logger),
    ...(config.mode === 'api'
      ? []
      : [createCronScheduler(cronFirer, hub, logger), createRegistration(processes, tasks, logger)]),
  ];
  for (const loop of loops) {
    loop.start();
    lifecycle.onStop(() => loop.stop());
  }
}
