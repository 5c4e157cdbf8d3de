import type { AddressInfo } from 'node:net';
import type { Ready } from '@millrace/contract';
import type { Logger } from 'pino';
import type { Config } from './config/config.js';
import { hostCheck } from './config/host-check.js';
import { LiveCredentials } from './config/credential-files.js';
import { builtinHandlers } from './handlers/builtin.js';
import { resolvingReferences } from './handlers/step-references.js';
import type { Handlers } from './handlers/types.js';
import { createApp } from './http/app.js';
import { Lifecycle } from './lifecycle.js';
import { listenUrl } from './wiring/listen-url.js';
import { createPool } from './wiring/create-pool.js';
import { databasesOf } from './wiring/databases.js';
import { gaugeCollector } from './wiring/gauges.js';
import { checkPorts } from './wiring/port-check.js';
import { serviceOn, type Service } from './wiring/service.js';
import { LiveCells } from './wiring/live-cells.js';
import { startNotifications } from './wiring/start-cell.js';
import { startLoops } from './wiring/start-loops.js';
import { createRelay } from './wiring/start-relay.js';
import type { Snapshot } from './telemetry/fleet-metrics.js';
import { startMetricsServer } from './telemetry/metrics-server.js';
import { Metrics, type CollectOptions } from './telemetry/metrics.js';
import type { Deadlines } from './store/connection/session.js';
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

/** How often a process looks for what nobody has told it, and how long it waits for databases. */
export interface Intervals {
  /** For leases and jobs that have expired. */
  readonly sweepMs?: number;
  /** For jobs, on behalf of the pool and of workers that wait. */
  readonly safetyPollMs?: number;
  /** How long a claim waits for each of several databases, before it goes on without it. */
  readonly patienceMs?: number;
  /** How long statements and connections may take. */
  readonly deadlines?: Deadlines;
}

export interface RunningServer {
  /** Null in worker mode, which has no API. */
  readonly apiUrl: string | null;
  readonly metricsUrl: string;
  /** Reads the list of --cells again. Rejects, and changes nothing, if that is wrong. */
  reloadCells(): Promise<void>;
  stop(): Promise<void>;
}

/** One of several processes behind the same ports: it has no metrics port, its parent asks it instead. */
export interface RunningMember {
  readonly apiUrl: string | null;
  snapshot(options: CollectOptions): Promise<Snapshot>;
  ready(): Promise<boolean>;
  cells(): Promise<Ready['cells']>;
  reloadCells(): Promise<void>;
  stop(): Promise<void>;
}

export async function startServer(config: Config, options: ServerOptions): Promise<RunningServer> {
  return stoppedOnFailure(async (lifecycle) => {
    await checkPorts(config);
    const { metrics, ready, cells, serve, reloadCells } = await prepare(config, options, lifecycle);
    const probes = { health: () => ({ version: VERSION }), ready, cells };
    const { host, metricsPort: port } = config;
    const metricsServer = await startMetricsServer(metrics, probes, { host, port, checkHost: hostCheck(config) });
    lifecycle.onStop(() => metricsServer.stop());
    const apiUrl = await serve();
    return {
      apiUrl,
      metricsUrl: listenUrl(host, metricsServer.port),
      reloadCells,
      stop: () => stop(config, lifecycle),
    };
  });
}

/** The same without the metrics port, and without a look at whether the ports are free: the parent holds them. */
export async function startMember(config: Config, options: ServerOptions): Promise<RunningMember> {
  return stoppedOnFailure(async (lifecycle) => {
    const { metrics, ready, cells, serve, reloadCells } = await prepare(config, options, lifecycle);
    const apiUrl = await serve();
    return {
      apiUrl,
      snapshot: (collect) => metrics.snapshot(collect),
      ready,
      cells,
      reloadCells,
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
  readonly cells: () => Promise<Ready['cells']>;
  /** Starts what works and what answers. Resolves to the address of the API, or null in worker mode. */
  readonly serve: () => Promise<string | null>;
  readonly reloadCells: () => Promise<void>;
}

/** Everything but the ports and what runs on its own. */
async function prepare(config: Config, options: ServerOptions, lifecycle: Lifecycle): Promise<Prepared> {
  const { logger, credentials = new LiveCredentials(config), intervals = {}, printFinished } = options;
  const { safetyPollMs, sweepMs, patienceMs, deadlines } = intervals;
  const found = await databasesOf(config, { logger, waits: true, onStop: (stop) => lifecycle.onStop(stop) });
  const handlers: Handlers = {
    ...builtinHandlers(config.builtinTasks),
    ...resolvingReferences(options.handlers ?? {}),
  };
  const tasks = Object.keys(handlers).sort();
  const metrics: Metrics = new Metrics({ version: VERSION, collect: (...args) => collectGauges(...args) });
  lifecycle.onStop(() => metrics.close());
  const cellOptions = { config, logger, lifecycle, metrics, tasks, safetyPollMs, printFinished, deadlines };
  const live = await LiveCells.start(found, cellOptions);
  const { cells } = live;
  const service = serviceOn(live, { safetyPollMs, patienceMs });
  const ready = async (): Promise<boolean> => !lifecycle.stopping && (await service.ready());
  const tracer = createTracer(config, metrics, logger, lifecycle);
  const pool =
    config.mode === 'api'
      ? null
      : createPool({ config, cells, service, handlers, credentials, logger, tracer, safetyPollMs });
  const collectGauges = gaugeCollector(cells, service, pool);

  const parts: Parts = { config, credentials, service, metrics, logger, lifecycle, tracer };
  for (const cell of cells) if (!cell.isAway()) await startNotifications(cell);
  const listening = new Set(cells.filter(({ isAway }) => !isAway()));
  const serve = async (): Promise<string | null> => {
    live.begin((cell) => {
      if (!listening.has(cell)) void startNotifications(cell);
      startLoops(cell, { config, tasks, sweepMs });
    });
    pool?.start();
    if (pool) lifecycle.onDrain((graceMs) => pool.stop(graceMs));
    if (config.mode === 'worker') return null;
    const apiUrl = await startApi(parts);
    if (config.outbox !== null) startOutboxRelay(config.outbox, apiUrl, parts);
    return apiUrl;
  };
  const { database } = config;
  const reloadCells = async (): Promise<void> => (database.kind === 'cells' ? live.reload(database.file) : undefined);
  const states = async (): Promise<Ready['cells']> => service.api.system.cells?.().slice();
  return { metrics, ready, cells: states, serve, reloadCells };
}

interface Parts {
  readonly config: Config;
  readonly credentials: LiveCredentials;
  readonly service: Service;
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

/**
 * A relay from the outbox of an application to this very process. The service neither waits for that database nor ends
 * with the relay: it serves others too.
 */
function startOutboxRelay(from: string, url: string, { config, metrics, logger, lifecycle }: Parts): void {
  const service = { url, token: config.outboxToken ?? 'dev' };
  const relay = createRelay(metrics.registry, { from, service, logger });
  lifecycle.onDrain(() => relay.stop());
  relay.start().catch((err: unknown) => {
    logger.error({ err }, 'the relay of --outbox cannot work and stays down; the service goes on without it');
  });
}

async function startApi({ config, credentials, service, metrics, logger, lifecycle, tracer }: Parts): Promise<string> {
  const { dev, defaultQueue, corsOrigins } = config;
  const { maxBodyBytes, maxPayloadBytes, maxInFlight, maxConnections } = config;
  const app = createApp({
    engine: service.api,
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
    traceUrl: config.traceUrl,
    isShuttingDown: () => lifecycle.stopping,
  });
  lifecycle.onDrain(async (graceMs) => {
    service.polls.close();
    // A client that dawdles over its request may not hold up the exit.
    const timer = setTimeout(() => app.server.closeAllConnections(), graceMs);
    await app.close();
    clearTimeout(timer);
    await service.polls.drained();
  });
  await app.listen({ host: config.host, port: config.apiPort });
  return listenUrl(config.host, (app.server.address() as AddressInfo).port);
}
