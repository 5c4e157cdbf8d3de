import type { Logger } from 'pino';
import type { Processes } from '../engine/shared/processes.js';
import { createLoop, type Loop } from './loop.js';

/** Says now and then that this process runs handlers, and for which tasks: half as often as others would forget it. */
const PERIOD_MS = 120_000;

export function createRegistration(processes: Processes, tasks: readonly string[], logger: Logger): Loop {
  return createLoop('registration', PERIOD_MS, () => processes.register(tasks), logger);
}
