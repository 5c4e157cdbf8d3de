import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { Database } from '../../src/store/connection/database.js';
import { createLogger } from '../../src/telemetry/logger.js';
import type { TestDatabase } from '../support/database.js';

const QUERIES = new URL('../../sql/queries/', import.meta.url);

/** Not run on the hot pool: planned each time for what is there. */
export const PLANNED_ANEW = [
  'expired',
  'queue_depths',
  'queue_marks',
  'paused_queues',
  'queue_known',
  'queue_by_task',
  'queue_next',
  'fleet_overview',
  'oldest_past_retention',
  'fleet_depths_by_queue',
  'fleet_tenants',
  'workers_of',
  'fleet_depths',
  'count_dead_letters',
  'dead_letter_groups',
  'counts',
  'series_of',
  'forget_series',
  'forget_series_names',
];
const OPERATORS = 'doctor.sql';

/** Every statement of the service, but for the tools of operators. */
export function statements(): { name: string; text: string }[] {
  const files = readdirSync(QUERIES).filter((file) => file !== OPERATORS);
  const parts = files.flatMap((file) =>
    readFileSync(new URL(file, QUERIES), 'utf8')
      .split(/^-- name: /m)
      .slice(1),
  );
  return parts.map((part) => ({
    name: /^\w+/.exec(part)![0],
    text: part.slice(part.indexOf('\n')).replace(/;\s*$/, ''),
  }));
}

/** A connection as the hot pool has them, from what PostgreSQL says of one. */
export async function hotConnection(database: TestDatabase): Promise<pg.Client> {
  const logger = createLogger({ level: 'silent', format: 'json' });
  const db = new Database({ url: database.url, maxConnections: 3, logger });
  const question = `SELECT name, setting FROM pg_settings WHERE source = 'client'`;
  const settings = await db.run<{ name: string; setting: string }>({ name: 'settings', text: question });
  await db.close();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const { name, setting } of settings) await client.query('SELECT set_config($1, $2, false)', [name, setting]);
  return client;
}
