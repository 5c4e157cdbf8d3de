import type { Database } from './database.js';
import { compare, type SchemaState } from './migrate.js';

/** The schema's state as a serving process sees it, through its own connections. */
const VERSION = {
  name: 'schema_version',
  text: 'SELECT coalesce(max(version), 0)::int AS version FROM millrace.migrations',
};

export async function currentSchema(db: Database): Promise<SchemaState> {
  const [row] = await db.run<{ version: number }>(VERSION);
  return compare(row?.version ?? 0);
}
