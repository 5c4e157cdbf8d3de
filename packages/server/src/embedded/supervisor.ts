import type { Logger } from '../telemetry/logger.js';
import { withLock } from './lock.js';
import { ensureRunning, postmasterState, type Launch } from './postmaster.js';

/**
 * Brings the server back if it dies while somebody uses it (the kernel ran out of memory, somebody killed it). Nobody
 * stops it on purpose while the list of users is not empty, so a dead server is always an accident. Every user
 * watches; the lock makes one of them restart it.
 */
const WATCH_MS = 1_000;

export interface Supervisor {
  stop(): Promise<void>;
}

export function supervise(launch: Launch, lock: string, log: Pick<Logger, 'warn' | 'error'>): Supervisor {
  let repair: Promise<void> | null = null;

  const mend = async (): Promise<void> => {
    try {
      const restarted = await withLock(lock, () => ensureRunning(launch));
      if (restarted) log.warn('embedded PostgreSQL had died and was started again');
    } catch (error) {
      log.error({ err: error }, 'embedded PostgreSQL died and could not be started again; will try once more');
    } finally {
      repair = null;
    }
  };
  const watch = (): void => {
    if (repair === null && postmasterState(launch.dataDir).kind !== 'ready') repair = mend();
  };

  const timer = setInterval(watch, WATCH_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await repair;
    },
  };
}
