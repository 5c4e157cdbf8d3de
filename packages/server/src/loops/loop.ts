import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';

/**
 * Something that runs again and again: first at start, then a period after each run ended, or after as many milliseconds as the run says.
 * A failed run is logged and followed by the next; runs never overlap. `runOnce` is for tests and for those who do not want to wait.
 */
export interface Loop {
  start(): void;
  stop(): Promise<void>;
  runOnce(): Promise<void>;
}

/** What a run resolves to: how long to wait for the next one, or nothing for the period. */
export type LoopRun = () => Promise<number | void>;

export function createLoop(name: string, periodMs: number, run: LoopRun, logger: Logger): Loop {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<number | void> | null = null;
  let stopped = false;

  const runOnce = (): Promise<number | void> => {
    running ??= run().finally(() => (running = null));
    return running;
  };

  const tick = async (): Promise<void> => {
    let delayMs = periodMs;
    try {
      delayMs = (await runOnce()) ?? periodMs;
    } catch (error) {
      const level = isUnavailable(error) ? 'debug' : 'warn';
      logger[level]({ err: error, loop: name }, `${name} failed; it will run again`);
    }
    if (!stopped) timer = setTimeout(() => void tick(), delayMs);
  };

  return {
    runOnce: async () => void (await runOnce()),
    start: () => void tick(),
    stop: async () => {
      stopped = true;
      if (timer) clearTimeout(timer);
      await running?.catch(() => undefined);
    },
  };
}
