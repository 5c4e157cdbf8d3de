import type { Logger } from 'pino';
import type { Cell } from '../cells/cell.js';
import { CellHealth } from '../cells/health.js';
import type { CellAddress } from '../config/cell-list.js';
import type { Config } from '../config/config.js';
import { isUnavailable, unavailable } from '../domain/errors.js';
import { createEngine } from '../engine/engine.js';
import { Lifecycle } from '../lifecycle.js';
import { createAttemptLog, type AttemptLog } from '../pool/attempt-log.js';
import type { Database } from '../store/connection/database.js';
import { Notifications } from '../store/connection/notifications.js';
import { currentSchema, isServable } from '../store/migrations/schema-check.js';
import type { Metrics } from '../telemetry/metrics.js';
import { Acceptance } from './acceptance.js';
import { engineMetrics } from './engine-metrics.js';
import { FinishedLines } from './finished-lines.js';
import type { Deadlines } from '../store/connection/session.js';
import { createDatabase } from './open-database.js';
import { Readiness } from './readiness.js';

/** A database of the service with the engine on it: it hears its news, and nothing of it runs by itself yet. */
export interface RunningCell extends Cell {
  readonly address: CellAddress;
  readonly db: Database;
  readonly logger: Logger;
  readonly attemptLog: AttemptLog;
  readonly ready: () => Promise<boolean>;
  /** Of this cell alone. */
  readonly lifecycle: Lifecycle;
  /** Does it now, or once the database has answered and turned out to be the right one. */
  readonly whenAccepted: (begin: () => void) => void;
  /** It answers, and does not hold its tenants yet: nothing is done with it before `hold`. */
  readonly isNew: () => boolean;
  /** Writes down which tenants it holds, unless it says so already. Throws if it cannot be these. */
  readonly hold: () => Promise<void>;
  /** The same database, which now holds other tenants. */
  readonly relist: (address: CellAddress) => void;
}

export interface CellOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly metrics: Metrics;
  /** Names of the tasks that this process runs. */
  readonly tasks: readonly string[];
  readonly safetyPollMs?: number | undefined;
  /** Of its database. */
  readonly deadlines?: Deadlines | undefined;
  readonly printFinished?: ((line: string) => void) | undefined;
  /** Whether to wait longer for a database that does not answer. */
  readonly goesOn: () => boolean;
  /** Whether to go on without one that does not answer; it is accepted later. */
  readonly mayBeAway: boolean;
  /** It was waited for before, and did not answer. */
  readonly isSilent: boolean;
  /** Whether it may be new: then it is to be told what it holds. Later on, none of the service is. */
  readonly takesNew: boolean;
}

/** A probe must answer; a database that dawdles this long is as good as gone. */
const READY_MS = 2_000;

/** Leaves nothing behind if it fails. */
export async function startCell(listed: CellAddress, options: CellOptions): Promise<RunningCell> {
  const lifecycle = new Lifecycle();
  lifecycle.onStop(options.lifecycle.onStop(() => lifecycle.stop(0)));
  try {
    return await start(listed, { ...options, lifecycle });
  } catch (error) {
    await lifecycle.stop(0);
    throw error;
  }
}

/** `lifecycle` is of this cell alone. */
async function start(listed: CellAddress, options: CellOptions): Promise<RunningCell> {
  const { config, metrics, tasks, deadlines, printFinished, goesOn, mayBeAway, isSilent, takesNew, lifecycle } =
    options;
  const { name } = listed;
  const logger = name === '' ? options.logger : options.logger.child({ cell: name });
  let address = listed;
  let moved = new AbortController();
  // Where there is only one, callers find out for themselves.
  const onOutage = name === '' ? undefined : () => health.failed();
  const db = createDatabase(listed, { ...config, logger, lifecycle, deadlines, ...(onOutage && { onOutage }) });
  const acceptance = new Acceptance(db, listed, { autoMigrate: config.autoMigrate, logger });
  const tellAway = (why: string): void => logger.warn({ reason: why }, 'the cell is away');
  const health: CellHealth = new CellHealth(() => acceptance.probe(), tellAway);
  lifecycle.onStop(() => health.stop());
  try {
    if (isSilent) throw unavailable('the database did not answer');
    await acceptance.atStart(takesNew, goesOn);
  } catch (error) {
    if (!mayBeAway || !isUnavailable(error)) throw error;
    logger.error('the database does not answer; its tenants are not served until it does');
    health.failed();
  }
  const readiness = new Readiness(() => isServing(db));
  const ready = async (): Promise<boolean> => acceptance.isAccepted && !lifecycle.stopping && (await readiness.ready());
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
  return {
    name,
    engine,
    db,
    logger,
    attemptLog,
    ready,
    lifecycle,
    get address() {
      return address;
    },
    isAway: () => health.isAway || !acceptance.isAccepted,
    isNew: () => acceptance.isNew,
    hold: () => acceptance.hold(),
    moved: () => moved.signal,
    whenAccepted: (begin) => acceptance.whenAccepted(begin),
    relist: (next) => {
      address = next;
      acceptance.relist(next);
      moved.abort();
      moved = new AbortController();
    },
  };
}

async function isServing(db: Database): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), READY_MS)));
  const current = currentSchema(db).then(isServable, () => false);
  return Promise.race([current, late]).finally(() => clearTimeout(timer));
}

export async function startNotifications({ db, engine: { hub }, logger, lifecycle }: RunningCell): Promise<void> {
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
