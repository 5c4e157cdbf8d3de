import type { Logger } from 'pino';
import type { Config } from '../config/config.js';
import { isUnavailable } from '../domain/errors.js';
import { startEmbedded } from '../embedded/index.js';
import type { Lifecycle } from '../lifecycle.js';
import { Database } from '../store/connection/database.js';
import { translateAtStart } from '../store/failures.js';
import { migrate, refusal, SchemaError, schemaState } from '../store/migrations/migrate.js';
import { checkSessions } from '../store/connection/session-check.js';

/** How long a start waits for a database that does not answer yet, as after a reboot of both. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 500;

/** A database whose schema this program can live with, over connections that are what they are taken for. */
export async function openDatabase(config: Config, logger: Logger, lifecycle: Lifecycle): Promise<Database> {
  const url = await addressOf(config, logger, lifecycle);
  const { pooler, directDatabaseUrl, maxDbConnections: maxConnections } = config;
  const schemaUrl = directDatabaseUrl ?? url;
  const state = await retryUntilAvailable(() => schemaState(schemaUrl), logger);
  const db = new Database({ url, pooler, directUrl: directDatabaseUrl, maxConnections, logger });
  lifecycle.onStop(() => db.close());
  // Before anything is written: with two addresses it might be the wrong database.
  await retryUntilAvailable(() => checkSessions(db), logger);
  if (state.kind === 'behind' && config.autoMigrate) {
    const { applied } = await migrate(schemaUrl);
    if (applied.length > 0) logger.info({ applied }, 'migrated the database schema');
    return db;
  }
  const refused = refusal(state);
  if (refused) throw new SchemaError(refused);
  if (state.kind === 'compatible') {
    const { found, expected } = state;
    logger.info({ found, expected }, 'the database schema is newer than this program, which can live with it');
  }
  return db;
}

async function addressOf({ database }: Config, logger: Logger, lifecycle: Lifecycle): Promise<string> {
  if (database.kind === 'url') return database.url;
  const embedded = await startEmbedded({ dir: database.dir, log: logger });
  lifecycle.onStop(() => embedded.stop());
  return embedded.url;
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
