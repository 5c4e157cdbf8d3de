import { bucketOf } from '@millrace/server/testing';
import type { BenchDatabase } from '../env/postgres.js';
import { PAYLOAD_TEXT, QUEUE, RESULT_TEXT, TASK, TENANT } from '../work.js';

const CHUNK = 250_000;
const SPAN_MS = 30 * 24 * 3_600_000;
const UNTIL_NOW_MS = 3_600_000;

const INSERT = `
WITH row AS MATERIALIZED (
  SELECT n, at, (millrace.id_prefix(at) || '8000' || $5 || lpad(to_hex(n), 8, '0'))::uuid AS id,
         CASE WHEN n < 200 THEN 'rare' WHEN n % 10 = 3 THEN 'mail' ELSE $6 END AS queue,
         CASE n % 20 WHEN 0 THEN 'failed' WHEN 1 THEN 'cancelled' ELSE 'completed' END::millrace.job_status AS status
  FROM generate_series($1::int, $2::int) AS n,
  LATERAL (SELECT $3::timestamptz + n * $4::float8 * interval '1 millisecond' AS at OFFSET 0) AS instant
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload)
  SELECT at, 0, id, $7, queue, $8, $9::json FROM row
), buried AS (
  INSERT INTO millrace.dead_letters (created_at, job_id, reason, tenant, queue, task, error)
  SELECT at + interval '1 second', id, 'max_attempts_exceeded', $7, queue, $8, 'no' FROM row WHERE status = 'failed'
)
INSERT INTO millrace.done (completed_at, started_at, retry_count, delivery_count, status, id, tenant, result, error)
SELECT at + interval '1 second', at + interval '0.5 seconds', 0, 1, status, id, $7,
       CASE WHEN status = 'completed' THEN $10::json END, CASE WHEN status = 'failed' THEN 'no' END
FROM row`;

/**
 * A month of finished jobs, written straight into the tables in the order of their creation: nine in ten on the default
 * queue, the rest on another, the very first ones on a third; one in twenty failed, with its dead letter, one in twenty
 * cancelled.
 */
export class FinishedJobs {
  readonly #startMs = Date.now() - UNTIL_NOW_MS - SPAN_MS;
  readonly #stepMs: number;
  #count = 0;

  constructor(
    private readonly database: Pick<BenchDatabase, 'connect'>,
    most: number,
  ) {
    this.#stepMs = SPAN_MS / most;
  }

  async growTo(count: number): Promise<void> {
    const client = await this.database.connect();
    await client.query('SET synchronous_commit = off');
    await client.query('INSERT INTO millrace.tenants (tenant, bucket) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
      TENANT,
      bucketOf(TENANT),
    ]);
    const bucket = bucketOf(TENANT).toString(16).padStart(4, '0');
    const start = new Date(this.#startMs).toISOString();
    for (; this.#count < count; this.#count = Math.min(count, this.#count + CHUNK)) {
      const last = Math.min(count, this.#count + CHUNK) - 1;
      const values = [this.#count, last, start, this.#stepMs, bucket, QUEUE, TENANT, TASK, PAYLOAD_TEXT, RESULT_TEXT];
      await client.query(INSERT, values);
    }
    await client.end();
  }

  /** The time before which this share of them was created. */
  instantAt(share: number): string {
    return new Date(this.#startMs + this.#count * this.#stepMs * share).toISOString();
  }
}
