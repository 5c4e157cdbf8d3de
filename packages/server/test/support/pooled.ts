import { inject } from 'vitest';
import type { DatabaseOptions } from '../../src/store/database.js';
import { throughPort } from './pgbouncer.js';

/**
 * `MILLRACE_TEST_POOLER=pgbouncer` puts a PgBouncer in transaction mode between the servers of the tests and their databases; the tests
 * themselves go on looking at the database directly. Row 12 of the fault suite runs the API's tests so.
 */
export function connectionOf(url: string): Required<Pick<DatabaseOptions, 'url' | 'pooler' | 'directUrl'>> {
  const port = inject('poolerPort');
  // One that leads through a proxy of the test's own stays as it is: that is what such a test is about.
  const isOurs = new URL(url).hostname === new URL(inject('adminUrl')).hostname;
  if (port === null || !isOurs) return { url, pooler: 'none', directUrl: null };
  return { url: throughPort(url, port), pooler: 'transaction', directUrl: url };
}

/** The same for a process of its own. */
export function environmentOf(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { DATABASE_URL: given = '' } = env;
  if (!URL.canParse(given)) return env;
  const { url, pooler, directUrl } = connectionOf(given);
  if (directUrl === null) return env;
  return { ...env, DATABASE_URL: url, MILLRACE_POOLER: pooler, MILLRACE_DIRECT_DATABASE_URL: directUrl };
}
