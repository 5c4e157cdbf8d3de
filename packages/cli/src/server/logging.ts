import type { Config, Logger } from '@millrace/server';

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
