import type { JobStatus, QueueDepth, Stats, WorkflowStatus } from '@millrace/contract';
import type {
  CronFiringRecord,
  CronRecord,
  CronSpec,
  DeadLetterRecord,
  Instant,
  JobRecord,
  JobSpec,
  JsonText,
  LeasedJob,
  WorkflowRecord,
  WorkflowSpec,
  WorkflowStepRecord,
} from '../domain/records.js';

/** What the layers above the engine see of it: plain records in, plain records out. */
export interface ListQuery {
  readonly limit: number;
  readonly offset: number;
  readonly ascending: boolean;
  readonly includeTotal: boolean;
  /** The opaque text as the caller sent it; the engine decodes it and refuses what it did not issue. */
  readonly cursor: string | null;
  readonly createdAfter: Instant | null;
  readonly createdBefore: Instant | null;
}

export interface JobListQuery extends ListQuery {
  readonly status: JobStatus | null;
  readonly queue: string | null;
}

export interface WorkflowListQuery extends ListQuery {
  readonly status: WorkflowStatus | null;
}

export interface Page<T> {
  readonly items: readonly T[];
  /**
   * Null: `items` is the whole page. Otherwise the items that follow, which are large: read from the database part by
   * part, as they are asked for.
   */
  readonly rest: AsyncIterable<PagePart<T>> | null;
  /** Unless a part of the rest says otherwise. */
  readonly nextCursor: string | null;
  readonly total: number | null;
}

/** About as much of a page is read at once, and about as much a page by cursor holds. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

export interface PagePart<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

export interface LeaseRequest {
  readonly queue: string;
  readonly maxJobs: number;
  readonly leaseSecs: number;
  readonly waitSecs: number;
}

/** What a request created. `replayed`: an earlier request with the same idempotency key did, and this one nothing. */
export interface Created {
  readonly id: string;
  readonly replayed: boolean;
}

export interface CreatedBatch {
  readonly ids: readonly string[];
  readonly replayed: boolean;
}

/**
 * Every method either does what it says, durably, before it resolves, or throws a MillraceError. A malformed id is
 * simply unknown (`not_found`); another tenant's id is `forbidden`. An idempotency key that was used for another kind
 * of request is a `conflict`.
 */
export interface JobsApi {
  create(tenant: string, spec: JobSpec, idempotencyKey: string | null): Promise<Created>;
  createBatch(tenant: string, specs: readonly JobSpec[], idempotencyKey: string | null): Promise<CreatedBatch>;
  /** Creates a fresh copy of a job, whatever its state. */
  rerun(tenant: string, id: string, idempotencyKey: string | null): Promise<Created>;
  get(tenant: string, id: string): Promise<JobRecord>;
  list(tenant: string, query: JobListQuery): Promise<Page<JobRecord>>;
  cancel(tenant: string, id: string): Promise<void>;
  /** Resolves once the first state is known; then yields it and every later transition, ending after a terminal one. */
  watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<JobRecord>>;
  queues(tenant: string): Promise<readonly QueueDepth[]>;
}

export interface WorkerApi {
  /** If the signal fires before the answer, nothing stays claimed. */
  lease(request: LeaseRequest, signal: AbortSignal): Promise<readonly LeasedJob[]>;
  heartbeat(id: string, token: string, extendSecs: number): Promise<JobStatus>;
  complete(id: string, token: string, result: JsonText): Promise<void>;
  fail(id: string, token: string, error: string, retryable: boolean): Promise<void>;
}

export interface DeadLettersApi {
  get(tenant: string, id: string): Promise<DeadLetterRecord>;
  list(tenant: string, query: ListQuery): Promise<Page<DeadLetterRecord>>;
  replay(tenant: string, id: string, idempotencyKey: string | null): Promise<Created>;
}

export interface WorkflowsApi {
  create(tenant: string, spec: WorkflowSpec, idempotencyKey: string | null): Promise<Created>;
  get(tenant: string, id: string): Promise<WorkflowRecord>;
  list(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowRecord>>;
  cancel(tenant: string, id: string): Promise<void>;
  /** In order of definition. */
  steps(tenant: string, id: string): Promise<readonly WorkflowStepRecord[]>;
  /** Mermaid text. */
  diagram(tenant: string, id: string): Promise<string>;
}

export interface CronListQuery extends ListQuery {
  /** In the order of what fires next, soonest first, instead of creation. */
  readonly byNextRun: boolean;
}

export interface CronPut {
  readonly id: string;
  /** False: it existed, and was replaced. */
  readonly created: boolean;
}

export interface CronsApi {
  create(tenant: string, spec: CronSpec): Promise<string>;
  /** Creates the schedule of that name, or replaces it. */
  put(tenant: string, spec: CronSpec): Promise<CronPut>;
  get(tenant: string, id: string): Promise<CronRecord>;
  list(tenant: string, query: CronListQuery): Promise<Page<CronRecord>>;
  remove(tenant: string, id: string): Promise<void>;
  pause(tenant: string, id: string): Promise<void>;
  resume(tenant: string, id: string): Promise<void>;
  /** The newest firings, as many as are kept; the time range applies to fired_at. */
  firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>>;
  /** Occurrences from now on; for a paused schedule, those it would have if it were resumed. */
  nextRuns(tenant: string, id: string, count: number): Promise<readonly Instant[]>;
  /** Enqueues its job now, beside the timetable. */
  trigger(tenant: string, id: string, idempotencyKey: string | null): Promise<Created>;
  /** The occurrences of a timetable from now on, whoever asks. */
  preview(timetable: Pick<CronSpec, 'expr' | 'timezone'>, count: number): Promise<readonly Instant[]>;
}

export interface SystemApi {
  /** True if the database answers and its schema is the one that this build expects. */
  ready(): Promise<boolean>;
  tasks(): readonly string[];
  stats(tenant: string): Stats;
}

export interface Engine {
  readonly jobs: JobsApi;
  readonly worker: WorkerApi;
  readonly deadLetters: DeadLettersApi;
  readonly workflows: WorkflowsApi;
  readonly crons: CronsApi;
  readonly system: SystemApi;
}
