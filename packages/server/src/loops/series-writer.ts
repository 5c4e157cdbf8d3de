import type { Logger } from 'pino';
import { SERIES_STEPS } from '@millrace/contract';
import type { Series } from '../engine/insight/series.js';
import type { Workers } from '../engine/insight/workers.js';
import { createLoop, type Loop } from './loop.js';

const STEP_MS = SERIES_STEPS[0].step_secs * 1000;
const FORGET_MS = 60_000;

/**
 * Writes what this process did, and what it saw workers do, at the end of every step in which there was something: a
 * process that is killed loses one step at most, and an idle one writes nothing. The last step is written when it
 * stops.
 */
export function createSeriesWriter(series: Series, workers: Workers, logger: Logger): Loop {
  let forgotAt = 0;
  const run = async (): Promise<number> => {
    if (!workers.recorder.isEmpty) await workers.write();
    if (!series.recorder.isEmpty) {
      await series.write();
      if (Date.now() - forgotAt > FORGET_MS) {
        forgotAt = Date.now();
        await series.forget();
      }
    }
    return STEP_MS - (Date.now() % STEP_MS);
  };
  const loop = createLoop('series', STEP_MS, run, logger);
  return {
    ...loop,
    stop: async () => {
      await loop.stop();
      const last = series.write().then(() => workers.write());
      await last.catch((error: unknown) => logger.debug({ err: error }, 'the last step was not written'));
    },
  };
}
