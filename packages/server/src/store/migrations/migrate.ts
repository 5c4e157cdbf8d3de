import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { onConnection, rowsOf } from '../connection/one-connection.js';
import { isCollision } from '../failures.js';
import { loadStatements } from '../sql.js';

/**
 * Migrations are plain numbered SQL files, applied in order, each in a transaction of its own together with its entry
 * in millrace.migrations, under one advisory lock: any number of processes may start at once, and each migration is
 * applied by one of them. The others do not queue for the lock: each would hold it for a few round trips, migration
 * after migration, only to find the work done. They look now and then how far it has got.
 *
 * A program is named by the newest migration it knows. Each migration names the oldest program that can live with it,
 * so that old and new processes serve side by side during an upgrade, and one can go back (docs/upgrades.md). A schema
 * beyond that range is refused, and no migration is ever undone.
 *
 * Others serve meanwhile. A migration that waits for a lock makes everybody wait who comes after it, so it gives way
 * after a moment and tries again.
 */
export interface MigrationReport {
  readonly applied: readonly string[];
  readonly current: number;
}

export interface SchemaState {
  /** Compatible: newer than the program knows, made so that it can live with it. Ahead: newer than that. */
  readonly kind: 'current' | 'behind' | 'compatible' | 'ahead';
  readonly found: number;
  readonly expected: number;
}

export class SchemaError extends Error {
  override readonly name = 'SchemaError';
}

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** The oldest program that can live with it; null: none that does not know it. */
  readonly oldest: number | null;
}

/** How far a database is migrated, and the oldest program that can live with that. */
export interface Applied {
  readonly version: number;
  readonly oldest: number;
}

const sql = loadStatements('store/migrations.sql');
const NAME = 'millrace-migrate';
const DIRECTORY = new URL('../../../sql/migrations/', import.meta.url);
/** The first line of a file that names the oldest program, and the first migration that must have it. */
const OLDEST_PROGRAM = /^-- oldest program: (\d+)$/m;
const FIRST_WITH_RANGE = 15;
const OLDEST_POSTGRES = 130_000;
/** Any constant that no other program on the same database uses: the bytes of "millrace". */
export const LOCK = '7883954128371540837';
/**
 * How long a migration may wait for a table. Less than PostgreSQL takes to look for a deadlock (1 s): of a migration
 * and a statement of a serving process that hold each other up, the migration gives way.
 */
const LOCK_WAIT_MS = 500;
/** For how long in all it tries to get its locks, before somebody has to find out who holds them. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = [100, 1_000] as const;

export function loadMigrations(): readonly Migration[] {
  return readdirSync(DIRECTORY)
    .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
    .sort()
    .map((file) => {
      const sql = readFileSync(new URL(file, DIRECTORY), 'utf8');
      const [, oldest] = OLDEST_PROGRAM.exec(sql) ?? [];
      const version = Number(file.slice(0, 4));
      return { version, name: file.slice(0, -4), sql, oldest: oldest === undefined ? null : Number(oldest) };
    });
}

export async function migrate(url: string): Promise<MigrationReport> {
  return onConnection({ url, name: NAME }, async (client) => {
    await refuseOldServer(client);
    const applied: string[] = [];
    let current = await usableVersion(client);
    for (const migration of loadMigrations()) {
      if (migration.version <= current) continue;
      const result = await applyPatiently(client, migration);
      if (result.isOurs) applied.push(migration.name);
      current = result.version;
    }
    return { applied, current };
  });
}

export async function schemaState(url: string): Promise<SchemaState> {
  return onConnection({ url, name: NAME }, async (client) => {
    await refuseOldServer(client);
    return compare(await appliedVersion(client));
  });
}

/** Why this schema prevents startup, or null if it does not. */
export function refusal(state: SchemaState): string | null {
  switch (state.kind) {
    case 'current':
    case 'compatible':
      return null;
    case 'behind':
      return `the database schema is at version ${state.found}, this program needs ${state.expected}: run \`millrace migrate\``;
    case 'ahead':
      return `the database schema is at version ${state.found}, newer than the ${state.expected} this program knows: run a newer millrace`;
  }
}

export function compare({ version: found, oldest }: Applied): SchemaState {
  const expected = newestVersion();
  if (found < expected) return { kind: 'behind', found, expected };
  if (found === expected) return { kind: 'current', found, expected };
  return { kind: oldest <= expected ? 'compatible' : 'ahead', found, expected };
}

/** Read once: later the files may be those of another version, which is being installed in place of this one. */
let newest: number | null = null;
const newestVersion = (): number => (newest ??= loadMigrations().at(-1)?.version ?? 0);

/** How far the database is migrated after a migration was tried, and whether that was our doing. */
interface Tried {
  readonly version: number;
  readonly isOurs: boolean;
}

/** Tries until the migration is applied, by this process or another. Nothing is left of a try that had to give way. */
async function applyPatiently(client: pg.Client, migration: Migration): Promise<Tried> {
  let giveUpAt = performance.now() + PATIENCE_MS;
  for (let pauseMs: number = PAUSE_MS[0]; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS[1])) {
    try {
      const tried = await applyOnce(client, migration);
      if (tried.version >= migration.version) return tried;
      // Another process migrates, and is waited for however long it takes.
      giveUpAt = performance.now() + PATIENCE_MS;
    } catch (error) {
      if (!isCollision(error)) throw error;
      if (performance.now() > giveUpAt) throw new SchemaError(lockedOut(migration), { cause: error });
    }
    await sleep(pauseMs);
    // Without the lock, which others can put to use.
    const version = await usableVersion(client);
    if (version >= migration.version) return { version, isOurs: false };
  }
}

const lockedOut = ({ name }: Migration): string =>
  `migration ${name} did not get its locks within ${PATIENCE_MS / 1_000} s: another transaction holds a table of the ` +
  'schema, a backup for example; run it again when that transaction has ended';

async function applyOnce(client: pg.Client, migration: Migration): Promise<Tried> {
  await client.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
  try {
    const isOurs = await takeLock(client);
    const version = await usableVersion(client);
    const applies = isOurs && version < migration.version;
    if (applies) {
      if (version === 0) await prepareSchema(client);
      await client.query(migration.sql);
      await record(client, migration);
    }
    await client.query('COMMIT');
    return applies ? { version: migration.version, isOurs } : { version, isOurs: false };
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

async function takeLock(client: pg.Client): Promise<boolean> {
  const [row] = await rowsOf<{ taken: boolean }>(client, sql.take_migration_lock({ lock: LOCK }));
  return row?.taken === true;
}

/** @throws SchemaError if it is migrated beyond what this program can live with */
async function usableVersion(client: pg.Client): Promise<number> {
  const found = await appliedVersion(client);
  const state = compare(found);
  if (state.kind === 'ahead') throw new SchemaError(refusal(state) ?? '');
  return found.version;
}

async function record(client: pg.Client, { version, name, oldest }: Migration): Promise<void> {
  const isEarly = version < FIRST_WITH_RANGE;
  await rowsOf(
    client,
    isEarly ? sql.record_early_migration({ version, name }) : sql.record_migration({ version, name, oldest }),
  );
}

/**
 * Creates the schema only if it is missing, so that a role without the right to create schemas can migrate into an
 * existing one.
 */
async function prepareSchema(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(`SELECT FROM pg_namespace WHERE nspname = 'millrace'`);
  if (rowCount === 0) await client.query('CREATE SCHEMA millrace');
  await client.query(`CREATE TABLE millrace.migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
}

/** How far the database is migrated; 0 where the schema is not there at all. */
export async function appliedVersion(client: pg.Client): Promise<Applied> {
  const known = await rowsOf(client, sql.migrations_known());
  if (known.length === 0) return { version: 0, oldest: 0 };
  const [found] = await rowsOf<Applied>(client, sql.applied_version());
  return found ?? { version: 0, oldest: 0 };
}

async function refuseOldServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version_num') AS version`);
  const version = Number(rows[0]?.version);
  if (version < OLDEST_POSTGRES)
    throw new SchemaError(`PostgreSQL 13 or newer is required; this server is ${Math.floor(version / 10_000)}`);
}
