import { constants } from 'node:os';
import {
  configSecrets,
  createLogger,
  credentialWarnings,
  parseConfig,
  startServer,
  type Config,
  type Logger,
  type RunningServer,
} from '@millrace/server';
import { banner } from './banner.js';
import type { Invocation } from '../invocation.js';
import { onStopSignals } from './signals.js';

/** The short form of `serve --dev`. */
export const dev = (invocation: Invocation): Promise<number> =>
  serve({ ...invocation, argv: ['--dev', ...invocation.argv.filter((flag) => flag !== '--dev')] });

/** Runs the service until it is asked to stop. */
export async function serve({ argv, env, isTTY, underNpm, print }: Invocation): Promise<number> {
  const config = parseConfig(argv, env, { isTTY });
  const logger = createLogger({ level: config.logLevel, format: config.logFormat, secrets: configSecrets(config) });
  exitOnBug(logger);
  warnAbout(config, logger);

  let serving = false;
  const asked = new Promise<void>((resolve) => {
    onStopSignals({
      first: (signal) => {
        logger.info({ signal }, 'stopping; a second signal exits at once');
        // Until it serves, there is nothing to finish, except to leave an embedded database in order.
        if (!serving && config.database.kind === 'url') process.exit(0);
        resolve();
      },
      again: (signal) => {
        logger.warn({ signal }, 'exiting at once');
        process.exit(128 + constants.signals[signal]);
      },
      ignoreEcho: underNpm,
    });
  });

  const server = await startServer(config, { logger, ...(showsJobs(config) && { printFinished: print }) });
  serving = true;
  announce(config, server, logger, print);
  await asked;
  await server.stop();
  logger.info('stopped');
  return 0;
}

/** Not among lines of JSON, which are meant for a program. */
const showsJobs = ({ dev, logFormat, logLevel }: Config): boolean =>
  dev && logFormat === 'pretty' && logLevel !== 'silent';

function announce(config: Config, server: RunningServer, logger: Logger, print: (text: string) => void): void {
  logger.info({ mode: config.mode, api: server.apiUrl, metrics: server.metricsUrl }, 'listening');
  if (config.dev && config.logLevel !== 'silent') print(banner(config, server));
}

function warnAbout(config: Config, logger: Logger): void {
  if (config.dev) {
    logger.warn(
      { host: config.host },
      'DEVELOPMENT MODE: any bearer token is accepted as tenant1, configured credentials are ignored. ' +
        'Never use it in production.',
    );
  }
  for (const warning of credentialWarnings(config)) logger.warn(warning);
}

/** An uncaught exception leaves the process in an unknown state: log it, with secrets scrubbed, and exit. */
function exitOnBug(logger: Logger): void {
  process.on('uncaughtException', (error) => {
    logger.fatal({ err: error }, 'unexpected failure, exiting');
    process.exit(1);
  });
}
