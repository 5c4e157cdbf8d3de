import type { Logger } from 'pino';

/**
 * Something that runs again and again: first at start, then a period after each run ended. A failed run is logged and followed by the next;
 * runs never overlap. `runOnce` is for tests and for those who do not want to wait.
 */
export interface Loop {
  start(): void;
  stop(): Promise<void>;
  runOnce(): Promise<void>;
}

export function createLoop(name: string, periodMs: number, run: () => Promise<void>, logger: Logger): Loop {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let stopped = false;

  const runOnce = (): Promise<void> => {
    running ??= run().finally(() => (running = null));
    return running;
  };

  const tick = async (): Promise<void> => {
    try {
      await runOnce();
    } catch (error) {
      logger.warn({ err: error, loop: name }, `${name} failed; it will run again`);
    }
    if (!stopped) timer = setTimeout(() => void tick(), periodMs);
  };

  return {
    runOnce,
    start: () => void tick(),
    stop: async () => {
      stopped = true;
      if (timer) clearTimeout(timer);
      await running?.catch(() => undefined);
    },
  };
}
