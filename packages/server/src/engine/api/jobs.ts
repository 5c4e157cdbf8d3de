import type { QueueDepth, TerminalJobStatus, Why } from '@millrace/contract';
import type { JobFilter } from '../../domain/filters.js';
import type { KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { JobAttempts, JobLogs, JobRecord, JobSpec, JobSummaryRecord, JsonText } from '../../domain/records.js';
import type { BatchItem, CreateKey, Created, CreatedBatch, CreatedItems } from './creates.js';
import type { CursorQuery, ListQuery, Page } from './lists.js';

export type JobListQuery = ListQuery & JobFilter;

export interface WaitQuery {
  readonly ids: readonly string[];
  readonly until: 'all' | 'any';
  readonly waitSecs: number;
}

export interface LogsQuery {
  /** Null: all. */
  readonly attempt: number | null;
  /** The `next` of a page before. */
  readonly after: string | null;
  readonly waitSecs: number;
}

/** Jobs in the order in which they ended. */
export interface EndedJobsQuery {
  /** The `next` of a page before; null: from now on. */
  readonly after: string | null;
  readonly limit: number;
  /** Empty: all. */
  readonly statuses: readonly TerminalJobStatus[];
  readonly queue: string | null;
  readonly task: string | null;
}

export interface EndedJobsPage {
  readonly jobs: readonly JobSummaryRecord[];
  readonly next: string;
  /** Others have ended already. */
  readonly more: boolean;
  /** Some that ended since the page before may be missing. */
  readonly missed: boolean;
}

/** Each list in the order of the question. */
export interface WaitResult {
  readonly ended: readonly { readonly id: string; readonly status: TerminalJobStatus }[];
  readonly pending: readonly string[];
  readonly missing: readonly string[];
}

/**
 * Every method either does what it says, durably, before it resolves, or throws a MillraceError. A malformed id is
 * simply unknown (`not_found`); another tenant's id is `forbidden`. An idempotency key that was used for another kind
 * of request is a `conflict`.
 */
export interface JobsApi {
  create(tenant: string, spec: JobSpec, key: CreateKey | null): Promise<Created>;
  createBatch(tenant: string, specs: readonly JobSpec[], key: CreateKey | null): Promise<CreatedBatch>;
  /** A batch whose items have keys of their own. A key of another kind of request refuses all of it. */
  createItems(tenant: string, items: readonly BatchItem[]): Promise<CreatedItems>;
  /** Creates a fresh copy of a job, whatever its state. */
  rerun(tenant: string, id: string, idempotencyKey: string | null, kept: KeptCheckpoints | null): Promise<Created>;
  get(tenant: string, id: string): Promise<JobRecord>;
  list(tenant: string, query: JobListQuery): Promise<Page<JobRecord>>;
  summaries(tenant: string, query: JobListQuery): Promise<Page<JobSummaryRecord>>;
  /** What has ended since the page before; from the first page on, ends are recorded for a while. */
  ended(tenant: string, query: EndedJobsQuery): Promise<EndedJobsPage>;
  cancel(tenant: string, id: string): Promise<void>;
  /** Resolves once the first state is known; then yields it and every later transition, ending after a terminal one. */
  watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<JobNews>>;
  attempts(tenant: string, id: string): Promise<JobAttempts>;
  /** What its handlers wrote; waits for lines if there are none yet, until the signal fires. */
  logs(tenant: string, id: string, query: LogsQuery, signal: AbortSignal): Promise<JobLogs>;
  /** A waiting job becomes due, if it is not yet. */
  runNow(tenant: string, id: string): Promise<void>;
  /** The job when it has ended, or as it is after that long, or when the signal fires. */
  wait(tenant: string, id: string, waitSecs: number, signal: AbortSignal): Promise<JobRecord>;
  /** The same for many; an id of another tenant's is refused. */
  waitForMany(tenant: string, query: WaitQuery, signal: AbortSignal): Promise<WaitResult>;
  /** What the job waits for. */
  why(tenant: string, id: string): Promise<Why>;
  /** In the order of their names. */
  queues(tenant: string, query: QueueListQuery): Promise<QueuePage>;
}

export interface QueueListQuery extends CursorQuery {
  /** Whether those that hold nothing are listed, too. */
  readonly idle: boolean;
}

export interface QueuePage {
  readonly queues: readonly QueueDepth[];
  readonly nextCursor: string | null;
}

/** What a stream tells: a state of the job, or what the running attempt reports. */
export type JobNews =
  { readonly kind: 'status'; readonly job: JobRecord } | { readonly kind: 'progress'; readonly progress: JsonText };
