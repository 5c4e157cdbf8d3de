import type {
  CronFiringKind,
  DeadLetterReason,
  JobConfig,
  JobStatus,
  OnFailure,
  StepStatus,
  WorkflowStatus,
} from '@millrace/contract';

/**
 * What the layers above the engine see of it: plain records in, plain records out.
 *
 * JSON that belongs to a caller (payload, result, metadata) travels as the text that was sent and is never
 * re-encoded on its way in or out: numbers beyond 2^53 and key order survive. Instants are RFC 3339 text in UTC
 * with PostgreSQL's microseconds; a JavaScript Date would drop three digits.
 */
export type JsonText = string;
export type Instant = string;

export interface JobSpec {
  readonly task: string;
  readonly queue: string;
  readonly payload: JsonText;
  /** null: every default. Stored as null, so that the common job carries no configuration at all. */
  readonly config: JobConfig | null;
  readonly runAt: Instant | null;
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
}

export interface ListQuery {
  readonly limit: number;
  readonly offset: number;
  readonly ascending: boolean;
  readonly includeTotal: boolean;
  /** The opaque text as the caller sent it; the engine decodes it and refuses what it did not make. */
  readonly cursor: string | null;
  readonly createdAfter: Instant | null;
  readonly createdBefore: Instant | null;
}

export interface JobListQuery extends ListQuery {
  readonly status: JobStatus | null;
  readonly queue: string | null;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
  readonly total: number | null;
}

export interface LeaseRequest {
  readonly queue: string;
  readonly maxJobs: number;
  readonly leaseSecs: number;
  readonly waitSecs: number;
}

export interface LeasedJob {
  readonly job: JobRecord;
  readonly leaseToken: string;
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
}

export interface QueueDepth {
  readonly queue: string;
  readonly pending: number;
  readonly scheduled: number;
  readonly running: number;
  readonly oldest_pending_age_secs: number | null;
}

export interface StepSpec {
  readonly name: string;
  readonly task: string;
  readonly payload: JsonText;
  readonly dependsOn: readonly string[];
  /** As it was given, in stored field names: what the API shows. */
  readonly config: JsonText;
  /** What it makes of the step's job. null: every default. */
  readonly jobConfig: JobConfig | null;
  readonly onFailure: OnFailure;
  readonly metadata: JsonText | null;
}

export interface WorkflowSpec {
  readonly name: string;
  readonly steps: readonly StepSpec[];
  readonly context: JsonText;
  readonly metadata: JsonText | null;
}

export interface WorkflowRecord {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly status: WorkflowStatus;
  /** The steps as they were defined: the text of a JSON array, ready to be shown. */
  readonly steps: JsonText;
  readonly context: JsonText;
  readonly metadata: JsonText;
  readonly created_at: Instant;
  readonly started_at: Instant | null;
  readonly completed_at: Instant | null;
}

export interface WorkflowStepRecord {
  readonly name: string;
  readonly status: StepStatus;
  readonly job_id: string | null;
}

export interface WorkflowListQuery extends ListQuery {
  readonly status: WorkflowStatus | null;
}

export interface CronSpec {
  readonly name: string;
  readonly expr: string;
  readonly task: string;
  readonly queue: string;
  readonly payload: JsonText;
  /** As it was given, in stored field names: what the API shows. */
  readonly config: JsonText;
  /** What it makes of a job. null: every default. */
  readonly jobConfig: JobConfig | null;
}

export interface CronRecord {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly cron_expr: string;
  readonly task_name: string;
  readonly payload: JsonText;
  readonly queue_name: string;
  readonly config: JsonText;
  readonly enabled: boolean;
  /** null after the last occurrence. */
  readonly next_run_at: Instant | null;
  readonly last_enqueued_at: Instant | null;
  readonly created_at: Instant;
}

export interface CronFiringRecord {
  readonly occurrence: Instant;
  readonly fired_at: Instant;
  readonly kind: CronFiringKind;
  readonly job_id: string;
}

/** Counters of this process for one tenant, since start: the body of GET /api/v1/stats. */
export interface TenantStats {
  jobs_created: number;
  jobs_completed: number;
  jobs_failed: number;
  jobs_retried: number;
  jobs_dead_lettered: number;
  jobs_cancelled: number;
  workflows_created: number;
  workflows_completed: number;
  workflows_failed: number;
}

/**
 * Every method either does what it says, durably, before it resolves, or throws a MillraceError.
 * An id that is not well formed is simply unknown (`not_found`); another tenant's is `forbidden`.
 */
export interface JobsApi {
  create(tenant: string, spec: JobSpec, idempotencyKey: string | null): Promise<string>;
  createBatch(tenant: string, specs: readonly JobSpec[]): Promise<readonly string[]>;
  get(tenant: string, id: string): Promise<JobRecord>;
  list(tenant: string, query: JobListQuery): Promise<Page<JobRecord>>;
  cancel(tenant: string, id: string): Promise<void>;
  /** Resolves once the first state is known; then yields it and every later transition, ending after a terminal one. */
  watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<JobRecord>>;
  queues(tenant: string): Promise<readonly QueueDepth[]>;
}

export interface WorkerApi {
  /** A signal that fires before the answer means that nothing stays claimed. */
  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]>;
  heartbeat(id: string, token: string, extendSecs: number): Promise<JobStatus>;
  complete(id: string, token: string, result: JsonText): Promise<void>;
  fail(id: string, token: string, error: string, retryable: boolean): Promise<void>;
}

export interface DeadLettersApi {
  get(tenant: string, id: string): Promise<DeadLetterRecord>;
  list(tenant: string, query: ListQuery): Promise<Page<DeadLetterRecord>>;
  replay(tenant: string, id: string): Promise<string>;
}

export interface WorkflowsApi {
  create(tenant: string, spec: WorkflowSpec): Promise<string>;
  get(tenant: string, id: string): Promise<WorkflowRecord>;
  list(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowRecord>>;
  cancel(tenant: string, id: string): Promise<void>;
  /** In the order of their definition. */
  steps(tenant: string, id: string): Promise<readonly WorkflowStepRecord[]>;
  /** Mermaid text. */
  diagram(tenant: string, id: string): Promise<string>;
}

export interface CronsApi {
  create(tenant: string, spec: CronSpec): Promise<string>;
  get(tenant: string, id: string): Promise<CronRecord>;
  list(tenant: string, query: ListQuery): Promise<Page<CronRecord>>;
  remove(tenant: string, id: string): Promise<void>;
  pause(tenant: string, id: string): Promise<void>;
  resume(tenant: string, id: string): Promise<void>;
  /** The newest firings that are remembered; the time range applies to fired_at. */
  firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>>;
  /** Occurrences from now on; of a paused schedule those it would have if it were resumed. */
  nextRuns(tenant: string, id: string, count: number): Promise<readonly Instant[]>;
}

export interface SystemApi {
  /** True when the database answers and its schema is the one this build expects. */
  ready(): Promise<boolean>;
  tasks(): readonly string[];
  stats(tenant: string): TenantStats;
}

export interface Engine {
  readonly jobs: JobsApi;
  readonly worker: WorkerApi;
  readonly deadLetters: DeadLettersApi;
  readonly workflows: WorkflowsApi;
  readonly crons: CronsApi;
  readonly system: SystemApi;
}
