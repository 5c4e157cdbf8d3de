import type { Config } from '../../src/config/config.js';
import { startServer, type Intervals, type RunningServer } from '../../src/server.js';
import type { Handlers } from '../../src/index.js';
import { createLogger } from '../../src/telemetry/logger.js';
import type { TestDatabase } from '../support/database.js';
import { PATIENT, testConfig } from '../support/server.js';

/**
 * One more server on a database that others already use. It is not checked for what it leaves open: in one process that
 * cannot be told from what the others open meanwhile.
 */
export function startAnotherServer(
  database: TestDatabase,
  config: Partial<Config>,
  handlers: Handlers = {},
  intervals: Intervals = {},
): Promise<RunningServer> {
  const logger = createLogger({ level: 'silent', format: 'json' });
  return startServer(testConfig(database.url, config), { logger, handlers, intervals: { ...PATIENT, ...intervals } });
}
