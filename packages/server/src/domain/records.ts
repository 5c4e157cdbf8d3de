import type { AttemptOutcome, DeadLetterReason, JobConfig, JobStatus, LogLevel } from '@millrace/contract';

/**
 * The records of jobs, as every layer sees them: plain data, no behaviour. Those of workflows and schedules are beside
 * this file.
 *
 * JSON that belongs to a caller (payload, result, metadata) travels as the text that was sent and is never re-encoded
 * on its way in or out: numbers beyond 2^53 and the order of keys survive. Instants are RFC 3339 text in UTC with
 * PostgreSQL's microseconds; a JavaScript Date would drop three digits.
 */
export type JsonText = string;
export type Instant = string;

export interface JobSpec {
  readonly task: string;
  readonly queue: string;
  readonly payload: JsonText;
  /** null: every default. It is stored as null, so that most jobs carry no configuration at all. */
  readonly config: JobConfig | null;
  readonly runAt: Instant | null;
  /** Instead of `runAt`: seconds from the database's now. */
  readonly delaySecs: number | null;
  readonly metadata: JsonText | null;
}

export interface JobRecord {
  readonly id: string;
  readonly tenant_id: string;
  readonly queue_name: string;
  readonly task_name: string;
  readonly payload: JsonText;
  readonly config: JobConfig;
  readonly metadata: JsonText;
  readonly status: JobStatus;
  readonly result: JsonText | null;
  readonly error_message: string | null;
  readonly retry_count: number;
  readonly delivery_count: number;
  readonly created_at: Instant;
  readonly scheduled_at: Instant;
  readonly started_at: Instant | null;
  readonly completed_at: Instant | null;
  readonly next_retry_at: Instant | null;
  readonly idempotency_key: string | null;
  readonly workflow_id: string | null;
  readonly workflow_step_id: string | null;
  /** While it runs: who holds it, and until when. */
  readonly worker_id: string | null;
  readonly lease_expires_at: Instant | null;
  /** What the running attempt last reported. */
  readonly progress: JsonText | null;
  /** Only of a suspended job, and only where it was asked for. */
  readonly waiting_for?: WaitingForRecord | null;
  /** Only of a child, and only where it is read. */
  readonly parent_job_id?: string;
  /** Name and stack of its last error, where they are read. */
  readonly error_details?: JsonText | null;
}

/** Without what may be large. */
export interface JobSummaryRecord extends Omit<JobRecord, 'payload' | 'metadata' | 'result'> {
  /** Of the payload as a full record shows it. */
  readonly payload_bytes: number;
}

export interface LeasedJob {
  readonly job: JobRecord;
  readonly leaseToken: string;
}

export interface AttemptRecord {
  /** The delivery, from 1. */
  readonly number: number;
  readonly outcome: AttemptOutcome;
  readonly worker_id: string | null;
  readonly started_at: Instant | null;
  readonly ended_at: Instant | null;
  readonly error_message: string | null;
  readonly error_details: JsonText | null;
  readonly next_retry_at: Instant | null;
}

/** How long a suspended job waits, and what may end that sooner. Either `until` or `delaySecs` is set. */
export interface Suspension {
  /** The checkpoint that ends the wait. */
  readonly checkpoint: string;
  readonly until: Instant | null;
  readonly delaySecs: number | null;
  readonly signal: AwaitedSignal | null;
  /** The names of children. Without them and a signal it sleeps. */
  readonly children: readonly string[] | null;
}

/** A job that a running job creates. */
export interface ChildSpec {
  readonly name: string;
  readonly detached: boolean;
  readonly spec: JobSpec;
}

export interface AwaitedSignal {
  readonly name: string;
  /** Null: the id of the job. */
  readonly key: string | null;
  /** A question to a person. */
  readonly ask: JsonText | null;
}

export interface Signal {
  readonly name: string;
  readonly key: string;
  readonly value: JsonText;
  /** How long it is kept; null: as long as the job that it is for. */
  readonly ttlSecs: number | null;
  readonly jobId: string | null;
  /** It goes with that workflow. */
  readonly workflowId?: string | null;
}

/** A named value of a job. */
export interface CheckpointRecord {
  readonly name: string;
  readonly value: JsonText;
  readonly at: Instant;
  /** The delivery that stored it. */
  readonly attempt: number;
}

/** What a job has stored, and the deadlines of waits that nothing has ended yet. */
export interface JobCheckpoints {
  readonly checkpoints: readonly CheckpointRecord[];
  readonly waits: readonly { readonly name: string; readonly until: Instant }[];
}

/** What a suspended job waits for. */
export interface WaitingForRecord {
  readonly checkpoint: string;
  readonly since: Instant;
  readonly until: Instant;
  readonly signal: string | null;
  readonly key: string | null;
  readonly ask: JsonText | null;
  /** Without them and a signal it sleeps. */
  readonly children: { readonly total: number; readonly unfinished: number } | null;
}

/** A job that waits for a signal. */
export interface WaitRecord {
  readonly job_id: string;
  readonly task_name: string;
  readonly name: string;
  readonly key: string;
  readonly ask: JsonText | null;
  readonly since: Instant;
  readonly until: Instant;
  /** Of a step that waits. */
  readonly workflow_id: string | null;
  readonly workflow_step_id: string | null;
}

/** A line that a handler has written. */
export interface LogRecord {
  readonly attempt: number;
  readonly seq: number;
  readonly at: Instant;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: JsonText | null;
}

export interface JobLogs {
  readonly lines: readonly LogRecord[];
  /** How many others were written. */
  readonly omitted: number;
  /** Where the next page begins; null: there will be none. */
  readonly next: string | null;
}

export interface JobAttempts {
  /** Retries move when it is due; this stays. */
  readonly first_due_at: Instant;
  readonly attempts: readonly AttemptRecord[];
  /** How many others there were. */
  readonly omitted: number;
}

export interface DeadLetterRecord {
  readonly id: number;
  readonly tenant_id: string;
  readonly job_id: string;
  readonly queue_name: string;
  readonly task_name: string;
  readonly reason: DeadLetterReason;
  readonly error_message: string | null;
  readonly created_at: Instant;
  readonly replayed_at: Instant | null;
  readonly replay_job_id: string | null;
  /** null: retention has removed the job. */
  readonly payload_bytes: number | null;
  /** null: written by an earlier version, and its job was gone when it was asked for. */
  readonly retry_count: number | null;
  readonly fingerprint: string;
}

/** Dead letters of one fingerprint. */
export interface DeadLetterGroupRecord {
  readonly fingerprint: string;
  readonly task_name: string;
  readonly reason: DeadLetterReason;
  readonly message: string | null;
  readonly count: number;
  readonly open: number;
  readonly first_at: Instant;
  readonly last_at: Instant;
  readonly latest_id: number;
}
