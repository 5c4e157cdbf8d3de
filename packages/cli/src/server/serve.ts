import {
  credentialWarnings,
  LiveCredentials,
  parseConfig,
  startServer,
  type Config,
  type Logger,
} from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';
import { announce } from './banner.js';
import { processCount, serveFleet } from './fleet/serve-fleet.js';
import { exitOnBug, printsFinished, reloadCells, reloadCredentials, serverLogger } from './logging.js';
import { Signals } from './signals.js';

/** The short form of `serve --dev`. */
export const dev = (invocation: Invocation): Promise<number> =>
  serve({ ...invocation, argv: ['--dev', ...invocation.argv.filter((flag) => flag !== '--dev')] });

/** Runs the service until it is asked to stop. */
export async function serve(invocation: Invocation): Promise<number> {
  const { argv, env, io, underNpm = false } = invocation;
  const config = parseConfig(argv, env, { isTTY: io.terminal.stdout });
  const credentials = new LiveCredentials(config);
  const logger = serverLogger(config, credentials);
  exitOnBug(logger);
  warnAbout(config, credentials, logger);
  // Until it serves, there is nothing to finish, except to leave an embedded database in order.
  const signals = new Signals(logger, { underNpm, exitsUntilServing: config.database.kind !== 'embedded' });
  const hasList = config.database.kind === 'cells';
  let reloadList = (): void => undefined;
  if (credentials.haveFiles || hasList)
    signals.onHangup(() => {
      if (credentials.haveFiles) reloadCredentials(credentials, logger);
      reloadList();
    });
  if (processCount(config) > 1) return serveFleet(config, invocation, { logger, credentials, signals });

  const server = await startServer(config, {
    logger,
    credentials,
    ...(printsFinished(config) && { printFinished: (line: string) => void io.print(line) }),
  });
  if (hasList) reloadList = () => void reloadCells(server, logger);
  signals.serving();
  announce(config, server, logger, io);
  await signals.stop;
  await server.stop();
  logger.info('stopped');
  return 0;
}

function warnAbout(config: Config, credentials: LiveCredentials, logger: Logger): void {
  if (config.dev) {
    logger.warn(
      { host: config.host },
      'DEVELOPMENT MODE: any bearer token is accepted as tenant1, configured credentials are ignored. ' +
        'Never use it in production.',
    );
  }
  for (const warning of credentialWarnings(config, credentials.current)) logger.warn(warning);
}
