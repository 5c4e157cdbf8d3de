import { inject } from 'vitest';
import type { DatabaseOptions } from '../../src/store/connection/database.js';
import { listIn } from './cells.js';
import { throughPort } from './pgbouncer.js';

/**
 * `MILLRACE_TEST_POOLER=pgbouncer` puts a PgBouncer in transaction mode between the servers under test and their
 * databases; the tests themselves still query the database directly. The fault suite runs the API's tests this way.
 */
export function connectionOf(url: string): Required<Pick<DatabaseOptions, 'url' | 'pooler' | 'directUrl'>> {
  const port = inject('poolerPort');
  // A URL that leads through a test's own proxy stays as it is: the proxy is what such a test is about.
  const isOurs = new URL(url).hostname === new URL(inject('adminUrl')).hostname;
  if (port === null || !isOurs) return { url, pooler: 'none', directUrl: null };
  return { url: throughPort(url, port), pooler: 'transaction', directUrl: url };
}

/** One PostgreSQL has the connections of all cells. */
export const MAX_OF_EACH = '6';

/** The same for a separate process. */
export function environmentOf(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { DATABASE_URL: given = '', ...rest } = env;
  const list = listIn(given);
  if (list !== null) return { ...rest, MILLRACE_CELLS: list, MILLRACE_MAX_DB_CONNECTIONS: MAX_OF_EACH };
  if (!URL.canParse(given)) return env;
  const { url, pooler, directUrl } = connectionOf(given);
  if (directUrl === null) return env;
  return { ...env, DATABASE_URL: url, MILLRACE_POOLER: pooler, MILLRACE_DIRECT_DATABASE_URL: directUrl };
}
