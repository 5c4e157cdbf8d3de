import type { Database } from '../connection/database.js';
import { compare, type Applied, type SchemaState } from './migrate.js';

/** The schema's state as a serving process sees it, through its own connections. */
const VERSION = {
  name: 'schema_version',
  text: `
    SELECT coalesce(max(version), 0)::int AS version, coalesce(max(coalesce(oldest, version)), 0)::int AS oldest
    FROM millrace.migrations`,
  values: [],
};

export async function currentSchema(db: Database): Promise<SchemaState> {
  const [row] = await db.run<Applied>(VERSION);
  return compare(row ?? { version: 0, oldest: 0 });
}

/** Whether this program can serve on it. */
export const isServable = ({ kind }: SchemaState): boolean => kind === 'current' || kind === 'compatible';
