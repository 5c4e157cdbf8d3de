import type { Logger } from 'pino';
import type { Cell } from '../cells/cell.js';
import { CellHealth } from '../cells/health.js';
import type { CellAddress } from '../config/cell-list.js';
import type { Config } from '../config/config.js';
import { createEngine } from '../engine/engine.js';
import type { Lifecycle } from '../lifecycle.js';
import { createAttemptLog, type AttemptLog } from '../pool/attempt-log.js';
import type { Database } from '../store/connection/database.js';
import { Notifications } from '../store/connection/notifications.js';
import { currentSchema, isServable } from '../store/migrations/schema-check.js';
import type { Metrics } from '../telemetry/metrics.js';
import { engineMetrics } from './engine-metrics.js';
import { FinishedLines } from './finished-lines.js';
import { openDatabase } from './open-database.js';
import { Readiness } from './readiness.js';

/** A database of the service with the engine on it: it hears its news, and nothing of it runs by itself yet. */
export interface RunningCell extends Cell {
  readonly db: Database;
  readonly logger: Logger;
  readonly attemptLog: AttemptLog;
  readonly ready: () => Promise<boolean>;
}

export interface CellOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly metrics: Metrics;
  /** Names of the tasks that this process runs. */
  readonly tasks: readonly string[];
  readonly safetyPollMs?: number | undefined;
  readonly printFinished?: ((line: string) => void) | undefined;
}

/** A probe must answer; a database that dawdles this long is as good as gone. */
const READY_MS = 2_000;

export async function startCell(address: CellAddress, options: CellOptions): Promise<RunningCell> {
  const { config, lifecycle, metrics, tasks, printFinished } = options;
  const { name } = address;
  const logger = name === '' ? options.logger : options.logger.child({ cell: name });
  const health: CellHealth = new CellHealth(() => currentSchema(db));
  // Where there is only one, callers find out for themselves.
  const onOutage = name === '' ? undefined : () => health.failed();
  const db = await openDatabase(address, { ...config, logger, lifecycle, ...(onOutage && { onOutage }) });
  lifecycle.onStop(() => health.stop());
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
    safetyPollMs: options.safetyPollMs,
  });
  lifecycle.onStop(() => engine.presence.stop());
  lifecycle.onStop(() => engine.offers.stop());
  const attemptLog = createAttemptLog(logger, engine.hub);
  if (printFinished) {
    const lines = new FinishedLines(engine.hub, engine.reads, printFinished);
    lifecycle.onStop(() => lines.stop());
  }
  return { name, engine, isAway: () => health.isAway, db, logger, attemptLog, ready };
}

async function isServing(db: Database): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), READY_MS)));
  const current = currentSchema(db).then(isServable, () => false);
  return Promise.race([current, late]).finally(() => clearTimeout(timer));
}

export async function startNotifications(
  { db, engine: { hub }, logger }: RunningCell,
  lifecycle: Lifecycle,
): Promise<void> {
  const notifications = new Notifications(
    db,
    logger,
    (news) => hub.hear(news),
    () => hub.wakeAll(),
  );
  hub.connect(notifications);
  lifecycle.onStop(() => notifications.stop());
  if (db.canListen) return notifications.start();
  logger.info('no --direct-database-url to listen on: work of other processes is found by polling, within 5 s');
}
