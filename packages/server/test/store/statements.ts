import { readdirSync } from 'node:fs';
import pg from 'pg';
import { Database } from '../../src/store/connection/database.js';
import { statementsIn } from '../../src/store/sql.js';
import type { StatementText } from '../../src/store/sql-text.js';
import { createLogger } from '../../src/telemetry/logger.js';
import type { TestDatabase } from '../support/database.js';

export const QUERIES = new URL('../../sql/queries/', import.meta.url);

/** Not run on the hot pool: planned each time for what is there. */
export const PLANNED_ANEW = [
  'signs',
  'expired',
  'queue_depths',
  'queue_marks',
  'audit_page',
  'paused_queues',
  'queue_known',
  'queue_held',
  'slots_in_use',
  'queue_by_task',
  'queue_next',
  'overview_of_all',
  'oldest_past_retention',
  'depths_by_queue_of_all',
  'tenants_of_all',
  'workers_of',
  'depths_of_all',
  'count_dead_letters',
  'dead_letter_groups',
  'dead_letter_groups_of',
  'counts',
  'series_of',
  'forget_series',
  'forget_series_names',
  'place_in_line',
  'limits_of_tenant',
  'limits_of_all',
  'waiting_for_room',
  'suspended_jobs',
  'miscounted',
  'recount',
  'gate_use',
];
const OPERATORS = ['store/doctor.sql', 'store/migrations.sql'];

/** Every file of `sql/queries` with statements, in order. */
export function statementFiles(): { readonly file: string; readonly statements: readonly StatementText[] }[] {
  const files = readdirSync(QUERIES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'));
  return files
    .sort()
    .map((file) => ({ file, statements: statementsIn(file) }))
    .filter(({ statements: all }) => all.length > 0);
}

/** Every statement that the service runs while it serves. */
export const statements = (): readonly StatementText[] =>
  statementFiles().flatMap(({ file, statements: all }) => (OPERATORS.includes(file) ? [] : all));

/** A connection as the hot pool has them, from what PostgreSQL says of one. */
export async function hotConnection(database: TestDatabase): Promise<pg.Client> {
  const logger = createLogger({ level: 'silent', format: 'json' });
  const db = new Database({ url: database.url, maxConnections: 3, logger });
  const question = `SELECT name, setting FROM pg_settings WHERE source = 'client'`;
  const settings = await db.run<{ name: string; setting: string }>({ name: 'settings', text: question, values: [] });
  await db.close();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const { name, setting } of settings) await client.query('SELECT set_config($1, $2, false)', [name, setting]);
  return client;
}
