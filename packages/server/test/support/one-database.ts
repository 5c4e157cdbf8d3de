import { randomBytes } from 'node:crypto';
import { PATIENCE_MS } from '@millrace/tools-shared';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseUrl, TEMPLATE } from './database-url.js';
import { until } from './until.js';

export interface TestDatabase {
  readonly url: string;
  /** The rows of one statement. Of several databases: of the one that it is about, or of all of them together. */
  query<R extends pg.QueryResultRow = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Itself, or each of several. */
  readonly parts: readonly TestDatabase[];
  /** The database that holds this tenant, or what this id names. */
  homeOf(tenantOrId: string): TestDatabase;
  /** From here on `query` uses new connections, which heed what has been set for the database. */
  reconnect(): Promise<void>;
  /** Gives it up. Fails if anybody still holds a connection: a stopped server must have closed all of its own. */
  drop(options?: { readonly patienceMs?: number }): Promise<void>;
}

/** A migrated database, for tests that are about one. */
export const oneDatabase = (): Promise<TestDatabase> => createDatabase(TEMPLATE);

/** An empty database, for tests of the migrations and of other clusters. */
export const emptyDatabase = (adminUrl?: string): Promise<TestDatabase> => createDatabase('template0', adminUrl);

async function createDatabase(template: string, adminUrl = inject('adminUrl')): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const administer = administration(adminUrl);
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = databaseUrl(adminUrl, name);
  const open = (): pg.Pool => openPool(url, { max: 4 });
  let connections = open();
  const database: TestDatabase = {
    url,
    get parts() {
      return [database];
    },
    homeOf: () => database,
    query: (text, values) => runOn(connections, text, values),
    reconnect: async () => {
      await connections.end();
      connections = open();
    },
    drop: async ({ patienceMs = PATIENCE_MS } = {}) => {
      await connections.end();
      try {
        await expectNoConnections(administer, name, patienceMs);
      } finally {
        await discard(administer, name);
      }
    },
  };
  return database;
}

/** Another one with the same contents, as a standby that was promoted. Ends the connections to the original. */
export async function copyDatabase(original: TestDatabase): Promise<TestDatabase> {
  const name = new URL(original.url).pathname.slice(1);
  const administer = administration(inject('adminUrl'));
  await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  try {
    await administer('SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = $1', [name]);
    return await createDatabase(name);
  } finally {
    await administer(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await original.reconnect();
  }
}

const CONNECTIONS = `
  SELECT application_name, state, left(query, 80) AS query FROM pg_stat_activity
  WHERE datname = $1 AND backend_type = 'client backend'`;

/** The server side of a closed connection takes a moment to disappear. */
async function expectNoConnections(administer: Administer, name: string, patienceMs: number): Promise<void> {
  await until(
    async () => {
      const open = await administer(CONNECTIONS, [name]);
      return open.length === 0 || `connections still open: ${JSON.stringify(open)}`;
    },
    { what: 'every connection to be closed', withinMs: patienceMs },
  );
}

/** Ten megabytes each. */
const KEPT = 500;

/**
 * What is no longer needed goes with the whole cluster at the end of the run, unless there is very much of it: ext4
 * passes over the inodes of files that were deleted within the last minutes, one by one, whenever it creates a file,
 * and soon a new database took three times as long as the first one.
 */
async function discard(administer: Administer, name: string): Promise<void> {
  const [databases] = await administer('SELECT count(*)::int AS count FROM pg_database');
  if (Number(databases?.count) > KEPT) await administer(`DROP DATABASE ${name} WITH (FORCE)`);
}

type Administer = (text: string, values?: readonly unknown[]) => Promise<Record<string, unknown>[]>;

const administrations = new Map<string, pg.Pool>();

/**
 * Runs statements as the role that may create databases. Over a connection that the files of this process share: a new
 * one has to map the shared memory again, which makes creating and dropping a database twice as dear.
 */
function administration(adminUrl: string): Administer {
  const pool = administrations.get(adminUrl) ?? openPool(adminUrl, { max: 1, idleTimeoutMillis: 0 });
  administrations.set(adminUrl, pool);
  return (text, values) => runOn(pool, text, values);
}

function openPool(connectionString: string, options: pg.PoolConfig): pg.Pool {
  const opened = new pg.Pool({ connectionString, application_name: 'test kit', allowExitOnIdle: true, ...options });
  // PostgreSQL stops before this process does, and some tests cut connections.
  opened.on('error', () => undefined);
  return opened;
}

async function runOn<R extends pg.QueryResultRow>(
  connections: pg.Pool,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  const client = await connections.connect();
  try {
    const { rows } = await client.query<R>(text, [...values]);
    client.release();
    return rows;
  } catch (error) {
    // It may be in the middle of a transaction.
    client.release(true);
    throw error;
  }
}
