import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { bucketOf } from '@millrace/server/testing';
import type { BenchDatabase } from '../../env/postgres.js';
import { PAYLOAD_TEXT, RESULT_TEXT, TASK, tenantName } from '../../work.js';

/**
 * Writes rows straight into the service's tables: millions of jobs in states that would take hours to reach over HTTP.
 * Their ids are such as the service makes, in the order of their creation.
 */
export interface Rows {
  readonly count: number;
  /** When the first one was created, and how far apart they are. */
  readonly startMs: number;
  readonly stepMs: number;
  readonly queue: string;
  /** Above 1: so many queues whose names begin with `queue`, in turn. */
  readonly queues?: number;
  /** How many of the registered tenants they belong to, in turn. */
  readonly tenants?: number;
  /** So many priorities, in turn; without it, they have the configuration that is not stored. */
  readonly priorities?: number;
  /** Hours from their creation until they are due; 0 is at once. */
  readonly dueInHours?: number;
}

const CHUNK = 250_000;
const DEFAULTS = JSON.stringify(DEFAULT_JOB_CONFIG);

const JOBS = `
WITH row AS MATERIALIZED (
  SELECT at, t.tenant, (millrace.id_prefix(at) || '8000' || t.bucket || lpad(to_hex(n), 8, '0'))::uuid AS id,
         coalesce(n % $8::int + 1, 0) AS priority, CASE WHEN $6::int > 1 THEN $5 || '-' || n % $6::int ELSE $5 END AS queue,
         ($12::jsonb || jsonb_build_object('priority', n % $8::int + 1))::json AS config,
         CASE WHEN $9::float8 > 0 THEN at + $9::float8 * interval '1 hour' END AS run_at
  FROM generate_series($1::int, $2::int) AS n
  JOIN LATERAL (SELECT $3::timestamptz + n * $4::float8 * interval '1 millisecond' AS at OFFSET 0) AS instant ON true
  JOIN bench_tenants t ON t.place = n % $7::int
), stored AS (
  INSERT INTO millrace.jobs (created_at, run_at, priority, id, tenant, queue, task, payload, config)
  SELECT at, run_at, priority, id, tenant, queue, $10, $11::json, CASE WHEN priority > 0 THEN config END FROM row
)`;

/** In which table a job's second row is says what state it is in. */
const STATES = {
  waiting: `
INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue, later)
SELECT coalesce(run_at, at), priority, 0, 0, id, tenant, queue, CASE WHEN run_at IS NOT NULL THEN true END FROM row`,
  finished: `
INSERT INTO millrace.done (completed_at, started_at, retry_count, delivery_count, status, id, tenant, result)
SELECT at + interval '1 second', at + interval '0.5 seconds', 0, 1, 'completed', id, tenant, '${RESULT_TEXT}' FROM row`,
  abandoned: `
INSERT INTO millrace.leases (locked_until, started_at, retry_count, delivery_count, id, token, tenant)
SELECT now() - interval '1 second', now() - interval '1 minute', 0, 1, id, gen_random_uuid(), tenant FROM row`,
} as const;

export async function insertJobs(
  database: Pick<BenchDatabase, 'connect'>,
  state: keyof typeof STATES,
  rows: Rows,
): Promise<void> {
  const { count, startMs, stepMs, queue, queues = 1, tenants = 1, priorities = null, dueInHours = 0 } = rows;
  const start = new Date(startMs).toISOString();
  const client = await database.connect();
  try {
    await client.query('SET synchronous_commit = off');
    for (let first = 0; first < count; first += CHUNK) {
      const last = Math.min(count, first + CHUNK) - 1;
      const shape = [first, last, start, stepMs, queue, queues, tenants, priorities, dueInHours];
      await client.query(JOBS + STATES[state], [...shape, TASK, PAYLOAD_TEXT, DEFAULTS]);
    }
  } finally {
    await client.end();
  }
}

/** Registers tenants. From now on they are those that `insertJobs` chooses from. */
export async function registerTenants(database: Pick<BenchDatabase, 'query'>, count: number): Promise<void> {
  await registerNames(
    database,
    Array.from({ length: count }, (_, n) => tenantName(n)),
  );
}

/** The same for tenants of these names. */
export async function registerNames(database: Pick<BenchDatabase, 'query'>, names: readonly string[]): Promise<void> {
  const buckets = names.map(bucketOf);
  await database.query(
    `INSERT INTO millrace.tenants (tenant, bucket) SELECT * FROM unnest($1::text[], $2::int[]) ON CONFLICT DO NOTHING`,
    [names, buckets],
  );
  await database.query('DROP TABLE IF EXISTS bench_tenants');
  await database.query(
    `CREATE TABLE bench_tenants AS
     SELECT (n - 1)::int AS place, tenant, lpad(to_hex(bucket), 4, '0') AS bucket
     FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS given (tenant, bucket, n)`,
    [names, buckets],
  );
}
