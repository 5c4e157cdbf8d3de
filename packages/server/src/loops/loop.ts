import type { Logger } from 'pino';
import { isUnavailable } from '../domain/errors.js';

/**
 * Something that runs again and again: first at start, then a period after each run ended, or after as many
 * milliseconds as the run says, or sooner when somebody wakes it. A failed run is logged and followed by the next; runs
 * never overlap. `runOnce` is for tests and for those who do not want to wait.
 */
export interface Loop {
  start(): void;
  stop(): Promise<void>;
  runOnce(): Promise<void>;
  /** Something is up: the next run comes at once, or as soon as `sinceLastMs` have passed since the last one began. */
  wake(sinceLastMs?: number): void;
}

/** What a run resolves to: how long to wait for the next one, or nothing for the period. */
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
    // Who woke it while it ran may have come too late for that run.
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
