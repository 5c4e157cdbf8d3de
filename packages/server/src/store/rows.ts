import {
  DEFAULT_JOB_CONFIG,
  type DeadLetterReason,
  type JobConfig,
  type JobStatus,
  type WorkflowStatus,
} from '@millrace/contract';
import { composePayload } from '../domain/context.js';
import type { DeadLetterRecord, Instant, JobRecord, JobSummaryRecord, JsonText } from '../domain/records.js';

/** Rows as PostgreSQL returns them ⇄ records as the engine exposes them. */
export interface JobRow {
  readonly tenant: string;
  readonly id: string;
  readonly queue: string;
  readonly task: string;
  readonly payload: JsonText;
  readonly config: JsonText | null;
  readonly metadata: JsonText | null;
  readonly idempotency_key: string | null;
  readonly workflow_id: string | null;
  readonly step: string | null;
  readonly status: JobStatus;
  readonly created_at: string;
  readonly scheduled_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly retry_count: number;
  readonly delivery_count: number;
  readonly error: string | null;
  readonly result: JsonText | null;
  /** The version of its workflow's context that belongs to the payload. Null if the payload is complete. */
  readonly context: number | null;
  readonly worker: string | null;
  readonly lease_expires_at: string | null;
  readonly progress: JsonText | null;
}

/** A job of a list that leaves out its bodies. */
export interface JobSummaryRow extends Omit<JobRow, 'payload' | 'metadata' | 'result'> {
  readonly payload_bytes: number;
}

export interface DeadLetterRow {
  readonly id: string;
  readonly tenant: string;
  readonly job_id: string;
  readonly queue: string;
  readonly task: string;
  readonly reason: DeadLetterReason;
  readonly error: string | null;
  readonly created_at: string;
  readonly replayed_at: string | null;
  readonly replay_job_id: string | null;
  readonly payload_bytes: number | null;
  readonly retry_count: number | null;
  readonly fingerprint: string;
}

export interface WorkflowRow {
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
  readonly definition: JsonText;
  readonly metadata: JsonText | null;
  readonly created_at: string;
  readonly status: WorkflowStatus;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly state: string;
  readonly context: JsonText;
  readonly unmerged: readonly number[];
}

/** A workflow of a list that leaves out its definition and its context. */
export type WorkflowSummaryRow = Omit<WorkflowRow, 'definition' | 'context' | 'unmerged'> & {
  /** How many steps have a job that has never begun. */
  readonly waiting: number;
  /** The step that failed first, in JSON. */
  readonly failed_step: string | null;
};

/**
 * The columns of a row, by name. Statements never select `*`: a new column in the table would change what a prepared
 * statement returns, and PostgreSQL refuses to run a statement whose columns have changed. Omitting a field here is a
 * compile error.
 */
export const columnsOf = <R>(columns: Readonly<Record<keyof R, true>>): readonly string[] => Object.keys(columns);

export const JOB_COLUMNS = columnsOf<JobRow>({
  tenant: true,
  id: true,
  queue: true,
  task: true,
  payload: true,
  config: true,
  metadata: true,
  idempotency_key: true,
  workflow_id: true,
  step: true,
  context: true,
  status: true,
  created_at: true,
  scheduled_at: true,
  started_at: true,
  completed_at: true,
  retry_count: true,
  delivery_count: true,
  error: true,
  result: true,
  worker: true,
  lease_expires_at: true,
  progress: true,
});

export const DEAD_LETTER_COLUMNS = columnsOf<DeadLetterRow>({
  id: true,
  tenant: true,
  job_id: true,
  queue: true,
  task: true,
  reason: true,
  error: true,
  created_at: true,
  replayed_at: true,
  replay_job_id: true,
  payload_bytes: true,
  retry_count: true,
  fingerprint: true,
});

export const WORKFLOW_COLUMNS = columnsOf<WorkflowRow>({
  tenant: true,
  id: true,
  name: true,
  definition: true,
  metadata: true,
  created_at: true,
  status: true,
  started_at: true,
  completed_at: true,
  state: true,
  context: true,
  unmerged: true,
});

/**
 * "2026-01-31 09:00:00.123456+00" → "2026-01-31T09:00:00.123456Z". The session's time zone is UTC, so the offset is
 * always +00.
 */
export function toInstant(text: string): Instant {
  return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`;
}

export const toInstantOrNull = (text: string | null): Instant | null => (text === null ? null : toInstant(text));

/** From one instant to another, as PostgreSQL writes them, to the microsecond. */
export function secsBetween(from: string, to: string): number {
  const wholeMs = (text: string): number => Date.parse(`${text.slice(0, 10)}T${text.slice(11, 19)}Z`);
  const fraction = (text: string): number => Number(`0${text.slice(19, -3)}`);
  return (wholeMs(to) - wholeMs(from)) / 1000 + fraction(to) - fraction(from);
}

export function toConfig(text: JsonText | null): JobConfig {
  return text === null ? DEFAULT_JOB_CONFIG : (JSON.parse(text) as JobConfig);
}

/** `context`: the text of the version that the row names. */
export function toJobRecord(row: JobRow, context: JsonText | null): JobRecord {
  const scheduledAt = toInstant(row.scheduled_at);
  return {
    id: row.id,
    tenant_id: row.tenant,
    queue_name: row.queue,
    task_name: row.task,
    payload: context === null ? row.payload : composePayload(row.payload, context),
    config: toConfig(row.config),
    metadata: row.metadata ?? '{}',
    status: row.status,
    result: row.result,
    error_message: row.error,
    retry_count: row.retry_count,
    delivery_count: row.delivery_count,
    created_at: toInstant(row.created_at),
    scheduled_at: scheduledAt,
    started_at: toInstantOrNull(row.started_at),
    completed_at: toInstantOrNull(row.completed_at),
    next_retry_at: row.status === 'retrying' ? scheduledAt : null,
    idempotency_key: row.idempotency_key,
    workflow_id: row.workflow_id,
    workflow_step_id: row.step,
    worker_id: row.worker,
    lease_expires_at: toInstantOrNull(row.lease_expires_at),
    progress: row.progress,
  };
}

export function toJobSummary({ payload_bytes, ...row }: JobSummaryRow): JobSummaryRecord {
  const { payload: _, metadata: __, result: ___, ...fields } = toJobRecord({ ...row, ...NO_BODIES }, null);
  return { ...fields, payload_bytes };
}

const NO_BODIES = { payload: '', metadata: null, result: null };

export function toDeadLetter(row: DeadLetterRow): DeadLetterRecord {
  return {
    id: Number(row.id),
    tenant_id: row.tenant,
    job_id: row.job_id,
    queue_name: row.queue,
    task_name: row.task,
    reason: row.reason,
    error_message: row.error,
    created_at: toInstant(row.created_at),
    replayed_at: toInstantOrNull(row.replayed_at),
    replay_job_id: row.replay_job_id,
    payload_bytes: row.payload_bytes,
    retry_count: row.retry_count,
    fingerprint: row.fingerprint,
  };
}

/** How much text the rows hold, in characters. */
export const textLength = (rows: readonly object[]): number =>
  rows.flatMap((row): unknown[] => Object.values(row)).reduce<number>((sum, value) => sum + lengthOf(value), 0);

const lengthOf = (value: unknown): number => (typeof value === 'string' ? value.length : 0);

/** A list that a statement returns as the text of a JSON array; null where it has none. */
export const listIn = <T>(json: string | null | undefined): T[] => (json ? (JSON.parse(json) as T[]) : []);
