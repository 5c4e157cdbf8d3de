import {
  configSecrets,
  createLogger,
  credentialWarnings,
  parseConfig,
  startServer,
  type Config,
  type Logger,
} from '@millrace/server';
import type { Invocation } from '../invocation.js';
import { announce } from './banner.js';
import { processCount, serveFleet } from './fleet/serve-fleet.js';
import { exitOnBug, printsFinished } from './logging.js';
import { StopRequest } from './signals.js';

/** The short form of `serve --dev`. */
export const dev = (invocation: Invocation): Promise<number> =>
  serve({ ...invocation, argv: ['--dev', ...invocation.argv.filter((flag) => flag !== '--dev')] });

/** Runs the service until it is asked to stop. */
export async function serve(invocation: Invocation): Promise<number> {
  const { argv, env, isTTY, underNpm, print } = invocation;
  const config = parseConfig(argv, env, { isTTY });
  const logger = createLogger({ level: config.logLevel, format: config.logFormat, secrets: configSecrets(config) });
  exitOnBug(logger);
  warnAbout(config, logger);
  // Until it serves, there is nothing to finish, except to leave an embedded database in order.
  const stopRequest = new StopRequest(logger, { underNpm, exitsUntilServing: config.database.kind === 'url' });
  if (processCount(config) > 1) return serveFleet(config, invocation, logger, stopRequest);

  const server = await startServer(config, { logger, ...(printsFinished(config) && { printFinished: print }) });
  stopRequest.serving();
  announce(config, server, logger, print);
  await stopRequest.asked;
  await server.stop();
  logger.info('stopped');
  return 0;
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
