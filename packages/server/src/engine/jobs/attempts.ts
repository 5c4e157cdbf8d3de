import type { AttemptOutcome, JobStatus } from '@millrace/contract';
import { notFound } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import type { AttemptRecord, JobAttempts, JobRecord, JsonText } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Reads } from './reads.js';

/**
 * The attempts of one job. Those that did not complete are rows, written by the statement that settled them; the one
 * that completed and the one that runs are in the job's own record.
 */
const sql = loadStatements('jobs/attempts.sql');

interface Row {
  readonly first_due_at: string;
  readonly status: JobStatus;
  readonly latest_started_at: string | null;
  readonly completed_at: string | null;
  readonly delivery_count: number;
  readonly latest_worker: string | null;
  /** Null: the job has no attempts of this kind. */
  readonly number: number | null;
  readonly outcome: AttemptOutcome;
  readonly worker: string | null;
  readonly started_at: string;
  readonly ended_at: string;
  readonly error: string | null;
  readonly details: JsonText | null;
  readonly next_retry_at: string | null;
}

export class Attempts {
  constructor(
    private readonly db: Database,
    private readonly reads: Reads,
  ) {}

  async of(tenant: string, id: string): Promise<JobAttempts> {
    if (!isUuid(id)) throw notFound('job');
    const rows = await this.db.run<Row>(sql.attempts_of_job({ tenant, id }));
    const [first] = rows;
    if (!first) throw await this.reads.refusal(id);
    const attempts = rows.flatMap(writtenAttempt);
    const latest = latestAttempt(first);
    if (latest) attempts.push(latest);
    const first_due_at = toInstant(first.first_due_at);
    return { first_due_at, attempts, omitted: Math.max(0, first.delivery_count - attempts.length) };
  }

  /** A job as it is shown by itself: with what is known of its last error. Costs nothing if it has none. */
  async shownOn(job: JobRecord): Promise<JobRecord> {
    if (job.error_message === null || job.delivery_count === 0) return job;
    const statement = sql.last_details({ tenant: job.tenant_id, id: job.id });
    const [last] = await this.db.run<{ details: JsonText | null }>(statement);
    return last?.details ? { ...job, error_details: last.details } : job;
  }
}

function writtenAttempt(row: Row): AttemptRecord[] {
  if (row.number === null) return [];
  return [
    {
      number: row.number,
      outcome: row.outcome,
      worker_id: row.worker,
      started_at: toInstant(row.started_at),
      ended_at: toInstant(row.ended_at),
      error_message: row.error,
      error_details: row.details,
      next_retry_at: toInstantOrNull(row.next_retry_at),
    },
  ];
}

/** The one that the record tells of. */
function latestAttempt(row: Row): AttemptRecord | null {
  if (row.status !== 'completed' && row.status !== 'running') return null;
  return {
    number: row.delivery_count,
    outcome: row.status,
    worker_id: row.latest_worker,
    started_at: toInstantOrNull(row.latest_started_at),
    ended_at: toInstantOrNull(row.completed_at),
    error_message: null,
    error_details: null,
    next_retry_at: null,
  };
}
