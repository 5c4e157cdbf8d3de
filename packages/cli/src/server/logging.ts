import { configSecrets, createLogger, type Config, type LiveCredentials, type Logger } from '@millrace/server';
import { explain } from './failure.js';

/** Whether each job that ends is shown. Not among lines of JSON, which are meant for a program. */
export const printsFinished = ({ dev, logFormat, logLevel }: Config): boolean =>
  dev && logFormat === 'pretty' && logLevel !== 'silent';

/** An uncaught exception leaves the process in an unknown state: log it, with secrets scrubbed, and exit. */
export function exitOnBug(logger: Logger): void {
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'unexpected failure, exiting');
    process.exit(1);
  });
}

/** It knows every secret of the process, also those that come later. */
export function serverLogger(config: Config, credentials: LiveCredentials): Logger {
  let fixed = configSecrets(config);
  let from = credentials.secrets;
  let secrets = [...fixed, ...from];
  const current = (): readonly string[] => {
    if (credentials.secrets !== from) secrets = [...fixed, ...(from = credentials.secrets)];
    return secrets;
  };
  const logger = createLogger({ level: config.logLevel, format: config.logFormat, secrets: current });
  relearns.set(logger, () => {
    // What was a secret stays one: lines about the old list are still to come.
    fixed = [...new Set([...fixed, ...configSecrets(config)])];
    secrets = [...fixed, ...from];
  });
  return logger;
}

const relearns = new WeakMap<Logger, () => void>();

/** If the list is wrong, the old one stays in force. */
export async function reloadCells(server: { reloadCells(): Promise<void> }, logger: Logger): Promise<void> {
  try {
    relearns.get(logger)?.();
    await server.reloadCells();
  } catch (error) {
    logger.error({ reason: explain(error) }, 'could not use the list of cells; the old one stays');
  }
}

/** Whether the files were sound. If not, what was valid stays valid. */
export function reloadCredentials(credentials: LiveCredentials, logger: Logger): boolean {
  try {
    credentials.reload();
    logger.info('read the credentials again');
    return true;
  } catch (error) {
    logger.error({ reason: (error as Error).message }, 'could not read the credentials again; the old ones stay');
    return false;
  }
}
