import type { Logger } from 'pino';
import type { CellAddress } from '../config/cell-list.js';
import { isUnavailable } from '../domain/errors.js';
import type { Lifecycle } from '../lifecycle.js';
import { Database } from '../store/connection/database.js';
import type { Deadlines } from '../store/connection/session.js';
import { translateAtStart } from '../store/failures.js';
import { expectHeld } from '../store/handover/held.js';
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
  readonly deadlines?: Deadlines | undefined;
}

/** Nothing is asked of it yet. */
export function createDatabase(
  { url, pooler, directUrl }: CellAddress,
  { maxDbConnections: maxConnections, logger, lifecycle, onOutage, deadlines }: OpenOptions,
): Database {
  const options = { url, pooler, directUrl, maxConnections, logger, deadlines };
  const db = new Database({ ...options, ...(onOutage && { onOutage }) });
  lifecycle.onStop(() => db.close());
  return db;
}

export interface AcceptOptions extends Pick<OpenOptions, 'autoMigrate' | 'logger'> {
  /** Also one that is new: whoever starts with it has looked at the others. */
  readonly takesNew: boolean;
}

/**
 * Makes sure that this program can live with its schema, and that the connections are what they are taken for.
 * `goesOn`: whether to wait longer for one that does not answer.
 */
export async function accept(
  db: Database,
  address: CellAddress,
  options: AcceptOptions,
  goesOn: () => boolean,
): Promise<void> {
  await named(address, () => tryToAdmit(db, address, options, goesOn));
}

/** Of several, an error says which one it was. */
export async function named<T>({ name }: Pick<CellAddress, 'name'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (name !== '' && error instanceof Error) error.message = `cell ${name}: ${error.message}`;
    throw error;
  }
}

async function tryToAdmit(
  db: Database,
  { url, directUrl, range }: CellAddress,
  { autoMigrate, logger, takesNew }: AcceptOptions,
  goesOn: () => boolean,
): Promise<void> {
  const schemaUrl = directUrl ?? url;
  const state = await retryUntilAvailable(() => schemaState(schemaUrl), goesOn, logger);
  // Before anything is written: with two addresses it might be the wrong database.
  await retryUntilAvailable(() => checkSessions(db), goesOn, logger);
  if (!takesNew) await expectHeld(schemaUrl, range);
  await useSchema(state, schemaUrl, autoMigrate, logger);
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
