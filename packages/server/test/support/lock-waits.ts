import type { TestDatabase } from './database.js';
import { until } from './until.js';

/**
 * Resolves once that many statements wait for a lock, of connections that call themselves `by`. Only those of this
 * database count: others of the same PostgreSQL have waits of their own.
 */
export async function lockWaits(
  database: TestDatabase,
  { by = 'millrace', statements = 1 }: { readonly by?: string; readonly statements?: number } = {},
): Promise<void> {
  await until(
    async () => {
      const [row] = await database.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock'`,
        [by],
      );
      return row!.n >= statements;
    },
    { what: `${statements} statements of ${by} to wait for a lock` },
  );
}
