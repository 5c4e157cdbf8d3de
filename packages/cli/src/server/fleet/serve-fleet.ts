import { availableParallelism } from 'node:os';
import {
  checkPorts,
  startFleetMetrics,
  type Config,
  type FleetMetrics,
  type LiveCredentials,
  type Logger,
} from '@millrace/server';
import type { Invocation } from '../../invocation/invocation.js';
import { announce } from '../banner.js';
import { reloadCredentials } from '../logging.js';
import type { Signals } from '../signals.js';
import { ProcessFleet } from './parent.js';

/** How many processes the configuration asks for on this machine. */
export const processCount = ({ processes }: Config): number =>
  processes === 'auto' ? availableParallelism() : processes;

interface FleetParts {
  readonly logger: Logger;
  readonly credentials: LiveCredentials;
  readonly signals: Signals;
}

/** Runs several processes behind one pair of ports until it is asked to stop. */
export async function serveFleet(
  config: Config,
  { argv, env, io }: Invocation,
  { logger, credentials, signals }: FleetParts,
): Promise<number> {
  await checkPorts(config);
  let metrics: FleetMetrics | null = null;
  const fleet = new ProcessFleet({
    count: processCount(config),
    argv,
    env,
    logger,
    credentials: () => credentials.current,
    onRestart: (id) => {
      metrics?.restarts.inc();
      metrics?.retire(id);
    },
  });
  const page = await startFleetMetrics(config, fleet);
  metrics = page.metrics;
  const hasList = config.database.kind === 'cells';
  if (credentials.haveFiles || hasList) {
    signals.onHangup(() => {
      // Files that are wrong are reported once, here, and the processes never hear of them.
      if (credentials.haveFiles && reloadCredentials(credentials, logger)) fleet.handOutCredentials();
      if (hasList) fleet.reloadCells();
    });
  }
  const shutdownMs = config.shutdownSecs * 1000;
  try {
    const apiUrl = await fleet.start();
    signals.serving();
    announce(config, { apiUrl, metricsUrl: page.metricsUrl }, logger, io);
  } catch (error) {
    await fleet.stop(0);
    await page.stop();
    throw error;
  }
  const gaveUp = await Promise.race([signals.stop.then(() => false), fleet.over.then(() => true)]);
  const allStopped = await fleet.stop(shutdownMs);
  await page.stop();
  logger.info('stopped');
  return allStopped && !gaveUp ? 0 : 1;
}
