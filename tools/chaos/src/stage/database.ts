import pg from 'pg';
import type { JobRecord } from '../oracle/model.js';

/** The database server. */
export interface Host {
  query<R extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>;
}

/** A database of a row, with what the suite asks of it behind the service's back. */
export class Database {
  constructor(
    readonly host: Host,
    readonly name: string,
    readonly url: string,
  ) {}

  /** Runs one statement on a connection of its own. */
  query<R extends object = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]> {
    return query<R>(this.url, text, values);
  }

  async count(text: string, values?: readonly unknown[]): Promise<number> {
    const [row] = await this.query<{ n: string }>(`SELECT count(*) AS n FROM ${text}`, values);
    return Number(row?.n);
  }

  /** Terminates connections to this database, all of them or those that match. Resolves to how many. */
  async terminateBackends(condition = 'true', limit = 1000): Promise<number> {
    const rows = await this.host.query(
      `SELECT pg_terminate_backend(pid) FROM (
         SELECT pid FROM pg_stat_activity
         WHERE datname = $1 AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND (${condition})
         ORDER BY random() LIMIT $2) AS chosen`,
      [this.name, limit],
    );
    return rows.length;
  }

  /** How many jobs have not ended, of all or of those that match. */
  liveJobs(condition = 'true'): Promise<number> {
    return this.count(`millrace.job_records WHERE status IN ('pending', 'running', 'retrying') AND (${condition})`);
  }

  /**
   * Skips the thirty seconds for which the pool of a killed server holds its jobs: the next sweep reclaims them. A pool
   * that is still alive may lose some jobs too, and has to cope with that.
   */
  async expirePoolLeases(queue = 'default'): Promise<void> {
    await this.query(
      `WITH bundled AS (UPDATE millrace.bundles SET locked_until = now() - interval '1 millisecond' WHERE queue = $1)
       UPDATE millrace.leases SET locked_until = now() - interval '1 millisecond' WHERE id IN (
         SELECT l.id FROM millrace.leases l
         WHERE l.id IN (SELECT id FROM millrace.job_records WHERE queue = $1 AND status = 'running')
         ORDER BY l.id FOR UPDATE OF l
       )`,
      [queue],
    );
  }

  /** How many leases, of single jobs or of bundles, have expired without being reclaimed. */
  overdue(): Promise<number> {
    return this.count(`(
      SELECT locked_until FROM millrace.leases
      UNION ALL SELECT locked_until FROM millrace.bundles WHERE position('1' IN open::text) > 0
    ) AS held WHERE locked_until < now()`);
  }

  async drop(): Promise<void> {
    await this.host.query(`DROP DATABASE IF EXISTS ${this.name} WITH (FORCE)`);
  }

  async records(): Promise<ReadonlyMap<string, JobRecord>> {
    const rows = await this.query<JobRecord>(`
      SELECT id::text, status::text, retry_count AS retries, delivery_count AS deliveries, queue,
             coalesce((config ->> 'max_retries')::int, 3) AS "maxRetries", result ->> 'by' AS "resultBy",
             workflow_id IS NOT NULL AS "inWorkflow"
      FROM millrace.job_records`);
    return new Map(rows.map((row) => [row.id, row]));
  }
}

/** Only ends a hang. */
const CONNECT_MS = 60_000;

export async function query<R extends object>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<R[]> {
  const options = { connectionString: url, application_name: 'chaos', connectionTimeoutMillis: CONNECT_MS };
  const client = new pg.Client(options);
  // The fault in progress may terminate this very connection; the statement then fails by itself.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, [...values])).rows as R[];
  } finally {
    await client.end();
  }
}
