import { hostname } from 'node:os';
import { NAME_MAX_LENGTH } from '@millrace/contract';
import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import type { LiveCredentials } from '../config/credential-files.js';
import { cleanText } from '../domain/text.js';
import type { Handlers } from '../handlers/types.js';
import { DurableJobs } from '../pool/durable-jobs.js';
import { HeldLeases } from '../pool/held-leases.js';
import { KeptLogs } from '../pool/kept-logs.js';
import type { LaneParts } from '../pool/lanes.js';
import { POOL_LEASE_SECS, WorkerPool } from '../pool/worker-pool.js';
import type { Tracer } from '../telemetry/tracing.js';
import { handlerRequests } from './handler-requests.js';
import { lineLogger } from './line-logger.js';
import type { Service } from './service.js';
import type { RunningCell } from './start-cell.js';

export interface PoolOptions {
  readonly config: Config;
  readonly cells: readonly RunningCell[];
  readonly service: Service;
  readonly handlers: Handlers;
  readonly credentials: LiveCredentials;
  readonly logger: Logger;
  readonly tracer: Tracer | null;
  readonly safetyPollMs?: number | undefined;
}

/** One pool, however many databases its jobs come from. */
export function createPool(options: PoolOptions): WorkerPool {
  const { config, cells, service, handlers, credentials, logger, tracer, safetyPollMs } = options;
  const known = new WeakMap<RunningCell, LaneParts>();
  const lanesOf = (all: readonly RunningCell[]): LaneParts[] =>
    all.map((cell) => {
      const lane = known.get(cell) ?? laneOf(cell, config, credentials);
      known.set(cell, lane);
      return lane;
    });
  const { defaultQueue: queue, workers, maxPayloadBytes } = config;
  const { cellOfJob } = service;
  const pool = new WorkerPool({
    queue,
    workers,
    name: processName(),
    maxPayloadBytes,
    safetyPollMs,
    handlers,
    claimer: service.claimer,
    hub: service.news,
    lanes: lanesOf(cells),
    laneOf: cellOfJob === null ? null : ({ job }) => cellOfJob(job.id),
    logger,
    tracer,
  });
  service.onChange(() => pool.useLanes(lanesOf(cells)));
  return pool;
}

function laneOf(
  { engine, logger, attemptLog, isAway }: RunningCell,
  config: Config,
  credentials: LiveCredentials,
): LaneParts {
  const { settler, bundles, keeper, checkpoints, suspensions: waits, children, suspender, logs } = engine;
  const heldLeases = new HeldLeases(keeper, bundles, POOL_LEASE_SECS, logger);
  const durable = { checkpoints, waits, children, suspender };
  const durableJobs = new DurableJobs(durable, handlerRequests(config), heldLeases);
  const keptLogs = new KeptLogs({ logs, heldLeases, logger, lineLogger: lineLogger(config, credentials) });
  return { settler, keeper, heldLeases, durableJobs, keptLogs, attemptLog, isAway };
}

/** What the jobs of its pool show as their worker: enough to find the process by. */
const processName = (): string => cleanText(`${hostname()}:${process.pid}`, NAME_MAX_LENGTH);
