import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { NAME_MAX_LENGTH } from '@millrace/contract';
import type { Logger } from 'pino';
import type { Config } from './config/config.js';
import { hostCheck } from './config/host-check.js';
import { LiveCredentials } from './config/credential-files.js';
import { cleanText } from './domain/text.js';
import { createEngine, type EngineParts } from './engine/engine.js';
import { builtinHandlers } from './handlers/builtin.js';
import { resolvingReferences } from './handlers/step-references.js';
import type { Handlers } from './handlers/types.js';
import { createApp } from './http/app.js';
import { Lifecycle } from './lifecycle.js';
import { listenUrl } from './wiring/listen-url.js';
import { createAttemptLog, type AttemptLog } from './pool/attempt-log.js';
import { createCronScheduler } from './loops/cron-scheduler.js';
import { FinishedLines } from './wiring/finished-lines.js';
import { HeldLeases } from './pool/held-leases.js';
import { createJanitor } from './loops/janitor.js';
import { createFamilyLoop } from './loops/family.js';
import { createLimitsLoop } from './loops/limits.js';
import type { Loop } from './loops/loop.js';
import { createOperationsLoop } from './loops/operations.js';
import { createRegistration } from './loops/registration.js';
import { createRetention } from './loops/retention.js';
import { createSeriesWriter } from './loops/series-writer.js';
import { POOL_LEASE_SECS, WorkerPool } from './pool/worker-pool.js';
import { engineMetrics, gaugeCollector } from './wiring/engine-metrics.js';
import { openDatabase } from './wiring/open-database.js';
import { checkPorts } from './wiring/port-check.js';
import { startRelayWith } from './wiring/start-relay.js';
import { Readiness } from './wiring/readiness.js';
import { Notifications } from './store/connection/notifications.js';
import type { Database } from './store/connection/database.js';
import { currentSchema, isServable } from './store/migrations/schema-check.js';
import type { Snapshot } from './telemetry/fleet-metrics.js';
import { startMetricsServer } from './telemetry/metrics-server.js';
import { Metrics, type CollectOptions } from './telemetry/metrics.js';
import { Tracer } from './telemetry/tracing.js';
import { VERSION } from './version.js';

/** The composition root: wire, start, drain, stop. */
export interface ServerOptions {
  readonly logger: Logger;
  /** In-process handlers beside the built-in ones. A handler named like a built-in one replaces it. */
  readonly handlers?: Handlers;
  /** Given: these are in force, and follow their `reload`. Otherwise the files are read once. */
  readonly credentials?: LiveCredentials;
  /** Given: gets one line per job that this process has seen end, for a developer at a terminal. */
  readonly printFinished?: (line: string) => void;
  /** For tests, which cannot wait, and for those in which nothing but news may wake anybody. */
  readonly intervals?: Intervals;
}

/** How often a process looks for what nobody has told it. */
export interface Intervals {
  /** For leases that have expired. */
  readonly sweepMs?: number;
  /** For jobs, on behalf of the pool and of workers that wait. */
  readonly safetyPollMs?: number;
}

export interface RunningServer {
  /** Null in worker mode, which has no API. */
  readonly apiUrl: string | null;
  readonly metricsUrl: string;
  stop(): Promise<void>;
}

/** One of several processes behind the same ports: it has no metrics port, its parent asks it instead. */
export interface RunningMember {
  readonly apiUrl: string | null;
  snapshot(options: CollectOptions): Promise<Snapshot>;
  ready(): Promise<boolean>;
  stop(): Promise<void>;
}

/** A probe must answer; a database that dawdles this long is as good as gone. */
const READY_MS = 2_000;

export async function startServer(config: Config, options: ServerOptions): Promise<RunningServer> {
  return stoppedOnFailure(async (lifecycle) => {
    await checkPorts(config);
    const { metrics, ready, serve } = await prepare(config, options, lifecycle);
    const probes = { health: () => ({ version: VERSION }), ready };
    const { host, metricsPort: port } = config;
    const metricsServer = await startMetricsServer(metrics, probes, { host, port, checkHost: hostCheck(config) });
    lifecycle.onStop(() => metricsServer.stop());
    const apiUrl = await serve();
    return { apiUrl, metricsUrl: listenUrl(host, metricsServer.port), stop: () => stop(config, lifecycle) };
  });
}

/** The same without the metrics port, and without a look at whether the ports are free: the parent holds them. */
export async function startMember(config: Config, options: ServerOptions): Promise<RunningMember> {
  return stoppedOnFailure(async (lifecycle) => {
    const { metrics, ready, serve } = await prepare(config, options, lifecycle);
    const apiUrl = await serve();
    return {
      apiUrl,
      snapshot: (collect) => metrics.snapshot(collect),
      ready,
      stop: () => stop(config, lifecycle),
    };
  });
}

async function stoppedOnFailure<T>(start: (lifecycle: Lifecycle) => Promise<T>): Promise<T> {
  const lifecycle = new Lifecycle();
  try {
    return await start(lifecycle);
  } catch (error) {
    await lifecycle.stop(0);
    throw error;
  }
}

const stop = ({ shutdownSecs }: Config, lifecycle: Lifecycle): Promise<void> => lifecycle.stop(shutdownSecs * 1000);

interface Prepared {
  readonly metrics: Metrics;
  readonly ready: () => Promise<boolean>;
  /** Starts what works and what answers. Resolves to the address of the API, or null in worker mode. */
  readonly serve: () => Promise<string | null>;
}

/** Everything but the ports and what runs on its own. */
async function prepare(config: Config, options: ServerOptions, lifecycle: Lifecycle): Promise<Prepared> {
  const { logger, credentials = new LiveCredentials(config), intervals = {} } = options;
  const db = await openDatabase(config, logger, lifecycle);

  const handlers: Handlers = {
    ...builtinHandlers(config.builtinTasks),
    ...resolvingReferences(options.handlers ?? {}),
  };
  const tasks = Object.keys(handlers).sort();
  const metrics: Metrics = new Metrics({ version: VERSION, collect: (...args) => collectGauges(...args) });
  lifecycle.onStop(() => metrics.close());
  const readiness = new Readiness(() => isServing(db));
  const ready = async (): Promise<boolean> => !lifecycle.stopping && (await readiness.ready());
  const engine = createEngine({
    db,
    metrics: engineMetrics(metrics),
    tasks,
    asksOthersForTasks: config.mode === 'api',
    defaultQueue: config.defaultQueue,
    maxPayloadBytes: config.maxPayloadBytes,
    retentionHours: config.retentionHours,
    ready,
    safetyPollMs: intervals.safetyPollMs,
  });
  lifecycle.onStop(() => engine.presence.stop());
  const attemptLog = createAttemptLog(logger, engine.hub);
  if (options.printFinished) {
    const lines = new FinishedLines(engine.hub, engine.reads, options.printFinished);
    lifecycle.onStop(() => lines.stop());
  }
  const tracer = createTracer(config, metrics, logger, lifecycle);
  const pool =
    config.mode === 'api' ? null : createPool(config, { engine, handlers, logger, attemptLog, tracer, intervals });
  const collectGauges = gaugeCollector(db, engine, pool);

  const parts: Parts = { config, credentials, engine, metrics, logger, lifecycle, tracer };
  await startNotifications(db, parts);
  const serve = async (): Promise<string | null> => {
    startLoops(parts, tasks, intervals);
    pool?.start();
    if (pool) lifecycle.onDrain((graceMs) => pool.stop(graceMs));
    if (config.mode === 'worker') return null;
    const apiUrl = await startApi(parts);
    if (config.outbox !== null) await startOutboxRelay(config.outbox, apiUrl, parts);
    return apiUrl;
  };
  return { metrics, ready, serve };
}

interface Parts {
  readonly config: Config;
  readonly credentials: LiveCredentials;
  readonly engine: EngineParts;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly tracer: Tracer | null;
}

function createTracer(config: Config, metrics: Metrics, logger: Logger, lifecycle: Lifecycle): Tracer | null {
  if (config.otlpEndpoint === null) return null;
  const onDropped = (spans: number): void => metrics.spansDropped.inc(spans);
  const tracer = new Tracer({ endpoint: config.otlpEndpoint, version: VERSION, logger, onDropped });
  lifecycle.onStop(() => tracer.stop());
  return tracer;
}

async function isServing(db: Database): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), READY_MS)));
  const current = currentSchema(db).then(isServable, () => false);
  return Promise.race([current, late]).finally(() => clearTimeout(timer));
}

async function startNotifications(db: Database, { engine: { hub }, logger, lifecycle }: Parts): Promise<void> {
  const notifications = new Notifications(
    db,
    logger,
    (news) => hub.hear(news),
    () => hub.wakeAll(),
  );
  hub.connect(notifications);
  lifecycle.onStop(() => notifications.stop());
  if (db.canListen) return notifications.start();
  logger.info('no --direct-database-url to listen on: work of other processes is found by looking, within 5 s');
}

function startLoops(
  { config, engine, logger, lifecycle }: Parts,
  tasks: readonly string[],
  { sweepMs }: Intervals,
): void {
  const { maintenance, cronFirer, hub, processes, series, workers, operationWork, family } = engine;
  const loops: Loop[] = [
    createJanitor(maintenance, logger, sweepMs),
    createLimitsLoop(engine, logger),
    createFamilyLoop(family, logger, sweepMs),
    createRetention(maintenance, config.retentionHours, logger),
    createSeriesWriter(series, workers, logger),
    createOperationsLoop(operationWork, maintenance, config.retentionHours, logger),
    ...(config.mode === 'api'
      ? []
      : [createCronScheduler(cronFirer, hub, logger), createRegistration(processes, tasks, logger)]),
  ];
  for (const loop of loops) {
    loop.start();
    lifecycle.onStop(() => loop.stop());
  }
}

/** A relay from the outbox of an application to this very process. If it cannot go on, the service does. */
async function startOutboxRelay(from: string, url: string, parts: Parts): Promise<void> {
  const { config, metrics, logger, lifecycle } = parts;
  const service = { url, token: config.outboxToken ?? 'dev' };
  const relay = await startRelayWith(metrics.registry, { from, service, logger });
  lifecycle.onDrain(() => relay.stop());
}

interface PoolParts {
  readonly engine: EngineParts;
  readonly handlers: Handlers;
  readonly logger: Logger;
  readonly attemptLog: AttemptLog;
  readonly tracer: Tracer | null;
  readonly intervals: Intervals;
}

function createPool(
  config: Config,
  { engine, handlers, logger, attemptLog, tracer, intervals: { safetyPollMs } }: PoolParts,
): WorkerPool {
  const { claimer, settler, bundles, hub, keeper } = engine;
  const heldLeases = new HeldLeases(keeper, bundles, POOL_LEASE_SECS, logger);
  const { defaultQueue: queue, workers, maxPayloadBytes } = config;
  const name = processName();
  const parts = { handlers, claimer, settler, keeper, hub, heldLeases, logger, attemptLog, tracer };
  return new WorkerPool({ queue, workers, name, maxPayloadBytes, safetyPollMs, ...parts });
}

/** What the jobs of its pool show as their worker: enough to find the process by. */
const processName = (): string => cleanText(`${hostname()}:${process.pid}`, NAME_MAX_LENGTH);

async function startApi({ config, credentials, engine, metrics, logger, lifecycle, tracer }: Parts): Promise<string> {
  const { dev, defaultQueue, corsOrigins } = config;
  const { maxBodyBytes, maxPayloadBytes, maxInFlight, maxConnections } = config;
  const app = createApp({
    engine: engine.api,
    auth: { dev, ...credentials.current },
    watchCredentials: (apply) => credentials.onChange(apply),
    defaultQueue,
    corsOrigins,
    checkHost: hostCheck(config),
    maxBodyBytes,
    maxPayloadBytes,
    maxInFlight,
    maxConnections,
    logger,
    metrics,
    tracer,
    version: VERSION,
    retentionHours: config.retentionHours,
    isShuttingDown: () => lifecycle.stopping,
  });
  lifecycle.onDrain(async (graceMs) => {
    engine.polls.close();
    // A client that dawdles over its request may not hold up the exit.
    const timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
    await app.close();
    clearTimeout(timer);
    await engine.polls.drained();
  });
  await app.listen({ host: config.host, port: config.apiPort });
  return listenUrl(config.host, (app.server.address() as AddressInfo).port);
}
