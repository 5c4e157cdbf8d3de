import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { Config } from './config.js';
import { createEngine, type EngineParts } from './engine/engine.js';
import { MillraceError } from './domain/errors.js';
import { startEmbedded } from './embedded/index.js';
import { BUILTIN_HANDLERS } from './handlers/builtin.js';
import type { Handlers } from './handlers/types.js';
import { createApp } from './http/app.js';
import { createCronScheduler } from './loops/cron-scheduler.js';
import { Holdings } from './loops/holdings.js';
import { createJanitor } from './loops/janitor.js';
import type { Loop } from './loops/loop.js';
import { createRetention } from './loops/retention.js';
import { POOL_LEASE_SECS, WorkerPool } from './loops/worker-pool.js';
import { Bulletin } from './store/bulletin.js';
import { Database } from './store/database.js';
import { migrate, refusal, SchemaError, schemaState } from './store/migrate.js';
import { currentSchema } from './store/schema-check.js';
import { engineMetrics, gaugeCollector } from './measures.js';
import { startMetricsServer } from './telemetry/metrics-server.js';
import { Metrics } from './telemetry/metrics.js';
import { VERSION } from './version.js';

/**
 * The composition root: wire, start, drain, stop. Start goes from the database upwards, stop the other way, and whatever was started
 * before a start failed is stopped again.
 */
export interface ServerOptions {
  readonly logger: Logger;
  /** In-process handlers beside the built-in ones; a name of theirs may be taken over. */
  readonly handlers?: Handlers;
}

export interface RunningServer {
  /** Null in worker mode, which has no API. */
  readonly apiUrl: string | null;
  readonly metricsUrl: string;
  stop(): Promise<void>;
}

type Undo = () => Promise<void>;

/** How long a start waits for a database that does not answer yet, as after a reboot of both. */
const DATABASE_PATIENCE_MS = 30_000;
const DATABASE_RETRY_MS = 500;
/** A probe must answer; a database that dawdles this long is as good as gone. */
const READY_MS = 2_000;

export async function startServer(config: Config, options: ServerOptions): Promise<RunningServer> {
  const undo: Undo[] = [];
  const unwind = async () => {
    for (const stop of undo.splice(0).reverse()) await stop();
  };
  try {
    return await wire(config, options, undo, unwind);
  } catch (error) {
    await unwind();
    throw error;
  }
}

async function wire(
  config: Config,
  options: ServerOptions,
  undo: Undo[],
  unwind: () => Promise<void>,
): Promise<RunningServer> {
  const { logger } = options;
  const url = await openDatabase(config, logger, undo);
  await prepareSchema(url, config.autoMigrate, logger);

  const db = new Database({ url, maxConnections: config.maxDbConnections, logger });
  undo.push(() => db.close());

  let stopping = false;
  const isShuttingDown = () => stopping;
  const handlers: Handlers = { ...BUILTIN_HANDLERS, ...options.handlers };
  const gauges: { collect: (metrics: Metrics) => Promise<void> } = { collect: async () => undefined };
  const metrics = new Metrics({ collect: (m) => gauges.collect(m) });
  undo.push(async () => metrics.close());
  const ready = () => isReady(db, isShuttingDown);
  const engine = createEngine({
    db,
    metrics: engineMetrics(metrics),
    tasks: Object.keys(handlers).sort(),
    defaultQueue: config.defaultQueue,
    ready,
  });
  gauges.collect = gaugeCollector(db, engine);

  await startBulletin(db, engine, logger, undo);
  const metricsServer = await startMetricsServer(metrics, { host: config.host, port: config.metricsPort });
  undo.push(() => metricsServer.stop());
  startLoops(config, engine, logger, undo);
  if (config.mode !== 'api') startPool(config, engine, handlers, logger, undo);
  const apiUrl =
    config.mode === 'worker' ? null : await startApi(config, { engine, metrics, logger, isShuttingDown }, undo);

  let stopped: Promise<void> | null = null;
  return {
    apiUrl,
    metricsUrl: urlOf(config.host, metricsServer.port),
    stop: () => {
      stopping = true;
      return (stopped ??= unwind());
    },
  };
}

async function openDatabase(config: Config, logger: Logger, undo: Undo[]): Promise<string> {
  if (config.database.kind === 'url') return config.database.url;
  const embedded = await startEmbedded({ dir: config.database.dir, log: logger });
  undo.push(() => embedded.stop());
  return embedded.url;
}

async function prepareSchema(url: string, autoMigrate: boolean, logger: Logger): Promise<void> {
  const state = await patiently(() => schemaState(url), logger);
  if (state.kind === 'behind' && autoMigrate) {
    const { applied } = await migrate(url);
    if (applied.length > 0) logger.info({ applied }, 'migrated the database schema');
    return;
  }
  const refused = refusal(state);
  if (refused) throw new SchemaError(refused);
}

async function patiently<T>(work: () => Promise<T>, logger: Logger): Promise<T> {
  const giveUpAt = performance.now() + DATABASE_PATIENCE_MS;
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (error) {
      const outage = error instanceof MillraceError && error.code === 'unavailable';
      if (!outage || performance.now() > giveUpAt) throw error;
      if (!told)
        logger.warn(
          { err: error.cause },
          `the database does not answer; waiting up to ${DATABASE_PATIENCE_MS / 1000} s for it`,
        );
      await new Promise((resolve) => setTimeout(resolve, DATABASE_RETRY_MS));
    }
  }
}

async function isReady(db: Database, isShuttingDown: () => boolean): Promise<boolean> {
  if (isShuttingDown()) return false;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), READY_MS)));
  const current = currentSchema(db).then(
    (state) => state.kind === 'current',
    () => false,
  );
  return Promise.race([current, late]).finally(() => clearTimeout(timer));
}

async function startBulletin(db: Database, { hub }: EngineParts, logger: Logger, undo: Undo[]): Promise<void> {
  const bulletin = new Bulletin(
    db,
    logger,
    (news) => hub.hear(news),
    () => hub.wakeAll(),
  );
  hub.connect(bulletin);
  undo.push(() => bulletin.stop());
  await bulletin.start();
}

function startLoops(config: Config, { maintenance, cronFirer }: EngineParts, logger: Logger, undo: Undo[]): void {
  const loops: Loop[] = [
    createJanitor(maintenance, logger),
    createRetention(maintenance, config.retentionHours, logger),
    ...(config.mode === 'api' ? [] : [createCronScheduler(cronFirer, logger)]),
  ];
  for (const loop of loops) {
    loop.start();
    undo.push(() => loop.stop());
  }
}

function startPool(config: Config, engine: EngineParts, handlers: Handlers, logger: Logger, undo: Undo[]): void {
  const { claimer, settler, hub, keeper } = engine;
  const holdings = new Holdings(keeper, POOL_LEASE_SECS, logger);
  const pool = new WorkerPool({
    queue: config.defaultQueue,
    workers: config.workers,
    handlers,
    claimer,
    settler,
    hub,
    holdings,
    logger,
  });
  pool.start();
  undo.push(() => pool.stop(config.shutdownSecs * 1000));
}

interface ApiParts {
  readonly engine: EngineParts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly isShuttingDown: () => boolean;
}

async function startApi(
  config: Config,
  { engine, metrics, logger, isShuttingDown }: ApiParts,
  undo: Undo[],
): Promise<string> {
  const { dev, apiKeys, jwtSecret, workerToken, defaultQueue, corsOrigins, maxBodyBytes } = config;
  const app = createApp({
    engine: engine.api,
    auth: { dev, apiKeys, jwtSecret, workerToken },
    defaultQueue,
    corsOrigins,
    maxBodyBytes,
    logger,
    metrics,
    version: VERSION,
    isShuttingDown,
  });
  undo.push(async () => {
    engine.desk.close();
    await app.close();
  });
  await app.listen({ host: config.host, port: config.apiPort });
  return urlOf(config.host, (app.server.address() as AddressInfo).port);
}

/** An address a person can open: a server on every interface is reached on this machine by its name. */
function urlOf(host: string, port: number): string {
  const everywhere = host === '0.0.0.0' || host === '::';
  const name = everywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}
