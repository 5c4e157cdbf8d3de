import type { Logger } from 'pino';
import type { CellAddress } from '../config/cell-list.js';
import { isUnavailable } from '../domain/errors.js';
import type { Lifecycle } from '../lifecycle.js';
import { Database } from '../store/connection/database.js';
import { translateAtStart } from '../store/failures.js';
import { holdRange } from '../store/migrations/cell-range.js';
import { migrate, refusal, SchemaError, schemaState, type SchemaState } from '../store/migrations/migrate.js';
import { checkSessions } from '../store/connection/session-check.js';

/** How long a start waits for a database that does not answer yet, as after a reboot of both. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 500;

export interface OpenOptions {
  readonly autoMigrate: boolean;
  readonly maxDbConnections: number;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  /** A statement has failed because the database is out of reach. */
  readonly onOutage?: () => void;
}

/** A database whose schema this program can live with, over connections that are what they are taken for. */
export async function openDatabase(address: CellAddress, options: OpenOptions): Promise<Database> {
  try {
    return await open(address, options);
  } catch (error) {
    // Of several, which one it was.
    if (address.name !== '' && error instanceof Error) error.message = `cell ${address.name}: ${error.message}`;
    throw error;
  }
}

async function open(
  { url, pooler, directUrl, range }: CellAddress,
  { autoMigrate, maxDbConnections: maxConnections, logger, lifecycle, onOutage }: OpenOptions,
): Promise<Database> {
  const schemaUrl = directUrl ?? url;
  const state = await retryUntilAvailable(() => schemaState(schemaUrl), logger);
  const db = new Database({ url, pooler, directUrl, maxConnections, logger, ...(onOutage && { onOutage }) });
  lifecycle.onStop(() => db.close());
  // Before anything is written: with two addresses it might be the wrong database.
  await retryUntilAvailable(() => checkSessions(db), logger);
  await useSchema(state, schemaUrl, autoMigrate, logger);
  await holdRange(db, range);
  return db;
}

async function useSchema(state: SchemaState, url: string, autoMigrate: boolean, logger: Logger): Promise<void> {
  if (state.kind === 'behind' && autoMigrate) {
    const { applied } = await migrate(url);
    if (applied.length > 0) logger.info({ applied }, 'migrated the database schema');
    return;
  }
  const refused = refusal(state);
  if (refused) throw new SchemaError(refused);
  if (state.kind !== 'compatible') return;
  const { found, expected } = state;
  logger.info({ found, expected }, 'the database schema is newer than this program, but compatible with it');
}

/** Waits for what may come: a server that is being started. A wrong password or a database that is missing will not. */
async function retryUntilAvailable<T>(work: () => Promise<T>, logger: Logger): Promise<T> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (failure) {
      const error = translateAtStart(failure);
      if (!isUnavailable(error) || performance.now() > giveUpAt) throw error;
      if (!told) {
        const message = `the database does not answer; waiting up to ${PATIENCE_MS / 1000} s for it`;
        logger.warn({ err: (error as Error).cause }, message);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
