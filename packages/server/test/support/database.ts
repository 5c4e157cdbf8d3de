import { randomBytes } from 'node:crypto';
import { PATIENCE_MS } from '@millrace/tools-shared';
import pg from 'pg';
import { inject } from 'vitest';
import { databaseUrl, TEMPLATE } from './database-url.js';
import { until } from './until.js';

export interface TestDatabase {
  readonly url: string;
  /** The rows of one statement, on a connection that is closed afterwards. */
  query<R extends pg.QueryResultRow = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>;
  /** Fails if anybody still holds a connection in the end: a stopped server must have closed all of its own. */
  drop(options?: { readonly patienceMs?: number }): Promise<void>;
}

/** A migrated database for one test file. */
export const cloneDatabase = (): Promise<TestDatabase> => createDatabase(TEMPLATE);

/** An empty database, for tests of the migrations. */
export const emptyDatabase = (): Promise<TestDatabase> => createDatabase('template0');

async function createDatabase(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const adminUrl = inject('adminUrl');
  await runOn(adminUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  const url = databaseUrl(adminUrl, name);
  return {
    url,
    query: (text, values) => runOn(url, text, values),
    drop: async ({ patienceMs = PATIENCE_MS } = {}) => {
      try {
        await expectNoConnections(adminUrl, name, patienceMs);
      } finally {
        await runOn(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`);
      }
    },
  };
}

const CONNECTIONS = `
  SELECT application_name, state, left(query, 80) AS query FROM pg_stat_activity
  WHERE datname = $1 AND backend_type = 'client backend'`;

/** The server side of a closed connection takes a moment to disappear. */
async function expectNoConnections(adminUrl: string, name: string, patienceMs: number): Promise<void> {
  await until(
    async () => {
      const open = await runOn(adminUrl, CONNECTIONS, [name]);
      return open.length === 0 || `connections still open: ${JSON.stringify(open)}`;
    },
    { what: 'every connection to be closed', withinMs: patienceMs },
  );
}

async function runOn<R extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'test kit' });
  await client.connect();
  try {
    return (await client.query<R>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
