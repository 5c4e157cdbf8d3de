import type { Logger } from '../telemetry/logger.js';
import { withLock } from './lock.js';
import { ensureRunning, postmasterState, type Launch } from './postmaster.js';

/**
 * Restarts the server if it dies while in use (killed by the kernel for lack of memory, or by a person). Nobody stops
 * it on purpose while it has users, so a dead server is always an accident. Every user watches it; the lock makes one
 * of them restart it.
 */
const WATCH_MS = 1_000;

export interface Supervisor {
  stop(): Promise<void>;
}

export function supervise(launch: Launch, lock: string, log: Pick<Logger, 'warn' | 'error'>): Supervisor {
  let restart: Promise<void> | null = null;

  const restartServer = async (): Promise<void> => {
    try {
      const restarted = await withLock(lock, () => ensureRunning(launch));
      if (restarted) log.warn('embedded PostgreSQL had died and was restarted');
    } catch (error) {
      log.error({ err: error }, 'embedded PostgreSQL died and could not be restarted; will try again');
    } finally {
      restart = null;
    }
  };
  const watch = (): void => {
    if (restart === null && postmasterState(launch.dataDir).kind !== 'ready') restart = restartServer();
  };

  const timer = setInterval(watch, WATCH_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await restart;
    },
  };
}
