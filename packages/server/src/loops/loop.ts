import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';

/**
 * Something that runs again and again: first at the start, then one period after each run ends, or after as many
 * milliseconds as the run returns, or sooner if it is woken. A failed run is logged and the loop continues; runs never
 * overlap. `runOnce` is for tests and for callers that do not want to wait.
 */
export interface Loop {
  start(): void;
  stop(): Promise<void>;
  runOnce(): Promise<void>;
  /**
   * Brings the next run forward: it starts at once, or as soon as `sinceLastMs` have passed since the last run began.
   */
  wake(sinceLastMs?: number): void;
}

/** A run resolves to how long to wait before the next one, or to nothing, which means one period. */
export type LoopRun = () => Promise<number | void>;

export function createLoop(name: string, periodMs: number, run: LoopRun, logger: Logger): Loop {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<number | void> | null = null;
  let startedAt = 0;
  let dueAt = Infinity;
  let wokenFor = Infinity;
  let stopped = false;

  const runOnce = (): Promise<number | void> => {
    startedAt = performance.now();
    running ??= run().finally(() => (running = null));
    return running;
  };

  const sleep = (untilMs: number): void => {
    if (timer) clearTimeout(timer);
    dueAt = untilMs;
    timer = setTimeout(() => void tick(), Math.max(0, untilMs - performance.now()));
  };

  const tick = async (): Promise<void> => {
    timer = null;
    wokenFor = Infinity;
    let delayMs = periodMs;
    try {
      delayMs = (await runOnce()) ?? periodMs;
    } catch (error) {
      const level = isUnavailable(error) ? 'debug' : 'warn';
      logger[level]({ err: error, loop: name }, `${name} failed; it will run again`);
    }
    // What woke the loop during the run may have come too late for that run to see.
    if (!stopped) sleep(Math.min(performance.now() + delayMs, wokenFor));
  };

  return {
    runOnce: async () => void (await runOnce()),
    start: () => void tick(),
    wake: (sinceLastMs = 0) => {
      const at = startedAt + sinceLastMs;
      if (!timer) wokenFor = Math.min(wokenFor, at);
      else if (at < dueAt) sleep(at);
    },
    stop: async () => {
      stopped = true;
      if (timer) clearTimeout(timer);
      timer = null;
      await running?.catch(() => undefined);
    },
  };
}
