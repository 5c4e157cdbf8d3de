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
export const PATIENCE_MS = 30_000;
/** How long for the others, once one of several has answered. */
export const OTHERS_MS = 5_000;
export const RETRY_MS = 500;

export interface OpenOptions {
  readonly autoMigrate: boolean;
  readonly maxDbConnections: number;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  /** A statement has failed because the database is out of reach. */
  readonly onOutage?: () => void;
}

/** Nothing is asked of it yet. */
export function createDatabase(
  { url, pooler, directUrl }: CellAddress,
  { maxDbConnections: maxConnections, logger, lifecycle, onOutage }: OpenOptions,
): Database {
  const db = new Database({ url, pooler, directUrl, maxConnections, logger, ...(onOutage && { onOutage }) });
  lifecycle.onStop(() => db.close());
  return db;
}

/**
 * Makes sure that this program can live with its schema, that the connections are what they are taken for, and that it
 * holds these tenants. `goesOn`: whether to wait longer for one that does not answer.
 */
export async function admit(
  db: Database,
  address: CellAddress,
  options: Pick<OpenOptions, 'autoMigrate' | 'logger'>,
  goesOn: () => boolean,
): Promise<void> {
  try {
    await tryToAdmit(db, address, options, goesOn);
  } catch (error) {
    // Of several, which one it was.
    if (address.name !== '' && error instanceof Error) error.message = `cell ${address.name}: ${error.message}`;
    throw error;
  }
}

async function tryToAdmit(
  db: Database,
  { url, directUrl, range }: CellAddress,
  { autoMigrate, logger }: Pick<OpenOptions, 'autoMigrate' | 'logger'>,
  goesOn: () => boolean,
): Promise<void> {
  const schemaUrl = directUrl ?? url;
  const state = await retryUntilAvailable(() => schemaState(schemaUrl), goesOn, logger);
  // Before anything is written: with two addresses it might be the wrong database.
  await retryUntilAvailable(() => checkSessions(db), goesOn, logger);
  await useSchema(state, schemaUrl, autoMigrate, logger);
  await holdRange(db, range);
  db.expectRange(range);
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
async function retryUntilAvailable<T>(work: () => Promise<T>, goesOn: () => boolean, logger: Logger): Promise<T> {
  for (let told = false; ; told = true) {
    try {
      return await work();
    } catch (failure) {
      const error = translateAtStart(failure);
      if (!isUnavailable(error) || !goesOn()) throw error;
      if (!told) {
        const message = `the database does not answer; waiting up to ${PATIENCE_MS / 1000} s for it`;
        logger.warn({ err: (error as Error).cause }, message);
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}
