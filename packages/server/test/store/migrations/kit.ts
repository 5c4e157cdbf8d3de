import { onTestFinished } from 'vitest';
import { startServer } from '../../../src/server.js';
import { loadMigrations, type Migration } from '../../../src/store/migrations/migrate.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { emptyDatabase, type TestDatabase } from '../../support/database.js';
import { testConfig } from '../../support/server.js';

export const MIGRATIONS: readonly Migration[] = loadMigrations();
export const NAMES = MIGRATIONS.map(({ name }) => name);
export const NEWEST = MIGRATIONS.at(-1)!.version;

export async function database(): Promise<TestDatabase> {
  const empty = await emptyDatabase();
  onTestFinished(() => empty.drop());
  return empty;
}

/** As an older program left it: the first `n` migrations and their entries. */
export async function migratedTo(n: number): Promise<TestDatabase> {
  const old = await database();
  await applyFirst(old, n);
  return old;
}

export async function applyFirst(db: TestDatabase, n: number): Promise<void> {
  await db.query('CREATE SCHEMA millrace');
  await db.query(
    `CREATE TABLE millrace.migrations
       (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
  );
  for (const { version, name, sql } of MIGRATIONS.slice(0, n)) {
    await db.query(sql);
    await db.query('INSERT INTO millrace.migrations (version, name) VALUES ($1, $2)', [version, name]);
  }
}

export const recorded = async (db: TestDatabase): Promise<string[]> =>
  (await db.query<{ name: string }>('SELECT name FROM millrace.migrations ORDER BY version')).map(({ name }) => name);

export const setVersion = (db: TestDatabase, version: number): Promise<unknown> =>
  db.query('INSERT INTO millrace.migrations (version, name) VALUES ($1, $2)', [version, 'from_the_future']);

/** What starting the service on this database ends with; never a service. */
export async function refusedStart(db: TestDatabase, autoMigrate: boolean): Promise<unknown> {
  const logger = createLogger({ level: 'silent', format: 'json' });
  const started = startServer(testConfig(db.url, { autoMigrate }), { logger });
  return started.then(
    async (server) => {
      await server.stop();
      return 'it started';
    },
    (error: unknown) => error,
  );
}
