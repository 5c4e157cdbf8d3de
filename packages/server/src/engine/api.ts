import type {
  AdminLimitUse,
  AdminOverview,
  AdminQueue,
  AdminTenant,
  Counts,
  QueueDepth,
  QueueDetail,
  Series,
  Stats,
  TerminalJobStatus,
  Why,
  Worker,
  WorkflowStatus,
  QueueSettings,
  QueueSettingsInput,
} from '@millrace/contract';
import type { EndsByTenant } from '../domain/ends-by-tenant.js';
import type { KeptCheckpoints } from '../domain/kept-checkpoints.js';
import type { DryRunRecord, OperationRecord, OperationSpec } from '../domain/operations.js';
import type {
  CronFiringRecord,
  CronRecord,
  CronSpec,
  DeadLetterGroupRecord,
  DeadLetterRecord,
  Instant,
  JobAttempts,
  JobCheckpoints,
  JobLogs,
  JobRecord,
  JobSpec,
  JobSummaryRecord,
  JsonText,
  ResumeSpec,
  Signal,
  WaitRecord,
  WorkflowRecord,
  WorkflowSnapshot,
  WorkflowSpec,
  WorkflowStepRecord,
  WorkflowSummaryRecord,
} from '../domain/records.js';
import type { CreatedRange, DeadLetterFilter, JobFilter } from '../domain/filters.js';
import type { WorkerApi } from './worker-api.js';

export type {
  FailureReport,
  Heartbeat,
  JobReport,
  LeaseRequest,
  NewLogs,
  StandingCheckpoint,
  WorkerApi,
} from './worker-api.js';

/** What the layers above the engine see of it: plain records in, plain records out. */
export interface ListQuery extends CreatedRange {
  readonly limit: number;
  readonly offset: number;
  readonly ascending: boolean;
  readonly includeTotal: boolean;
  /** The opaque text as the caller sent it; the engine decodes it and refuses what it did not issue. */
  readonly cursor: string | null;
}

/** Of a list that has one order, and is read forwards. */
export type CursorQuery = Pick<ListQuery, 'limit' | 'cursor'>;

export type JobListQuery = ListQuery & JobFilter;

export interface WorkflowListQuery extends ListQuery {
  readonly status: WorkflowStatus | null;
  readonly name: string | null;
}

export type DeadLetterListQuery = ListQuery & DeadLetterFilter;

export interface DeadLetterGroupsQuery {
  readonly since: Instant | null;
  readonly queue: string | null;
  readonly task: string | null;
  readonly limit: number;
  readonly cursor: string | null;
}

/** The cursors of a page. */
export interface PageEnds {
  /** Null: nothing follows. */
  readonly nextCursor: string | null;
  /** Null: the page is empty. */
  readonly prevCursor: string | null;
  /** If a search stopped at its bound before the page was full: the creation of the last item it looked at. */
  readonly searchedTo: Instant | null;
}

/** Its ends are those of its last part, if it has parts. */
export interface Page<T> extends PageEnds {
  readonly items: readonly T[];
  /**
   * Null: `items` is the whole page. Otherwise: the large items that follow, read from the database part by part as the
   * caller asks for them.
   */
  readonly rest: AsyncIterable<PagePart<T>> | null;
  readonly total: number | null;
}

/** About how much of a page is read at once, and about how much a page by cursor holds. */
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;

export interface PagePart<T> extends PageEnds {
  readonly items: readonly T[];
}

/** What a request created. `replayed`: an earlier request with the same idempotency key did, and this one nothing. */
export interface Created {
  readonly id: string;
  readonly replayed: boolean;
  /** Nothing was created: a job of the same unique key was there. */
  readonly existing?: boolean;
  /** The earlier request asked for something else. */
  readonly mismatch?: boolean;
}

/** An idempotency key, and what the request asks for under it (http/requests/digest.ts). */
export interface CreateKey {
  readonly key: string;
  readonly digest: bigint;
}

export interface CreatedBatch {
  readonly ids: readonly string[];
  readonly replayed: boolean;
  readonly mismatch: boolean;
  /** The positions of jobs that created nothing, because one of the same unique key was there. */
  readonly existing: readonly number[];
}

/** A job of a batch, with a key of its own or none. */
export interface BatchItem {
  readonly spec: JobSpec;
  readonly key: CreateKey | null;
}

export interface CreatedItems {
  /** In the order of the request. */
  readonly ids: readonly string[];
  /** The positions of the items that created nothing, because there was a job of their key. */
  readonly replayed: readonly number[];
  /** One of them asked for something else than what its key was used for. */
  readonly mismatch: boolean;
  /** The same, because there was one of their unique key. */
  readonly existing: readonly number[];
}

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
  queues(tenant: string, query: CursorQuery): Promise<QueuePage>;
}

export interface QueuePage {
  readonly queues: readonly QueueDepth[];
  readonly nextCursor: string | null;
}

/** What a stream tells: a state of the job, or what the running attempt reports. */
export type JobNews =
  { readonly kind: 'status'; readonly job: JobRecord } | { readonly kind: 'progress'; readonly progress: JsonText };

export interface DeadLetterGroupPage extends Pick<PageEnds, 'nextCursor' | 'searchedTo'> {
  readonly groups: readonly DeadLetterGroupRecord[];
}

export interface DeadLettersApi {
  get(tenant: string, id: string): Promise<DeadLetterRecord>;
  list(tenant: string, query: DeadLetterListQuery): Promise<Page<DeadLetterRecord>>;
  /** The group with the newest entry first. */
  groups(tenant: string, query: DeadLetterGroupsQuery): Promise<DeadLetterGroupPage>;
  replay(tenant: string, id: string, idempotencyKey: string | null, kept: KeptCheckpoints | null): Promise<Created>;
}

export interface ResumedWorkflow {
  /** Names of the steps that were reset, in order of definition. */
  readonly steps: readonly string[];
  readonly replayed: boolean;
}

export interface WorkflowsApi {
  create(tenant: string, spec: WorkflowSpec, key: CreateKey | null): Promise<Created>;
  get(tenant: string, id: string): Promise<WorkflowRecord>;
  list(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowRecord>>;
  summaries(tenant: string, query: WorkflowListQuery): Promise<Page<WorkflowSummaryRecord>>;
  cancel(tenant: string, id: string): Promise<void>;
  /** An ended workflow goes on. */
  resume(tenant: string, id: string, spec: ResumeSpec, idempotencyKey: string | null): Promise<ResumedWorkflow>;
  /** The steps that `resume` would reset. */
  previewResume(tenant: string, id: string, spec: ResumeSpec): Promise<readonly string[]>;
  /** In order of definition. */
  steps(tenant: string, id: string): Promise<readonly WorkflowStepRecord[]>;
  /** Resolves once the first state is known; yields it and every later one that lasts, ending after a final one. */
  watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<WorkflowSnapshot>>;
  /** Mermaid text. */
  diagram(tenant: string, id: string): Promise<string>;
}

export interface CronListQuery extends ListQuery {
  /** Ordered by next firing, soonest first, instead of by creation. */
  readonly byNextRun: boolean;
}

export interface CronPut {
  readonly id: string;
  /** False: it existed, and was replaced. */
  readonly created: boolean;
}

/** What a trigger created. */
export interface TriggeredCron extends Created {
  readonly created: 'job' | 'workflow';
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
  /** Enqueues its job or starts its workflow now, in addition to the timetable. */
  trigger(tenant: string, id: string, idempotencyKey: string | null): Promise<TriggeredCron>;
  /** The occurrences of a timetable from now on, the same for every tenant. */
  preview(timetable: Pick<CronSpec, 'expr' | 'timezone'>, count: number): Promise<readonly Instant[]>;
}

export interface OperationPage {
  readonly operations: readonly OperationRecord[];
  readonly nextCursor: string | null;
}

/** Changes to many things at once, made in the background. */
export interface OperationsApi {
  create(tenant: string, spec: OperationSpec, idempotencyKey: string | null): Promise<Created>;
  /** What `create` would work on. */
  dryRun(tenant: string, spec: OperationSpec): Promise<DryRunRecord>;
  get(tenant: string, id: string): Promise<OperationRecord>;
  /** The newest first. */
  list(tenant: string, query: CursorQuery): Promise<OperationPage>;
  stop(tenant: string, id: string): Promise<void>;
}

export interface SignalDelivery {
  /** False: nobody waits for it; it is stored. */
  readonly delivered: boolean;
  readonly replayed: boolean;
}

export interface WaitsQuery extends CursorQuery {
  readonly name: string | null;
  readonly key: string | null;
  /** Only those that ask a person something. */
  readonly asks: boolean;
}

export interface WaitPage {
  readonly waits: readonly WaitRecord[];
  readonly nextCursor: string | null;
}

/** What durable jobs have stored and wait for. */
export interface DurableApi {
  checkpoints(tenant: string, id: string): Promise<JobCheckpoints>;
  /** For the worker that holds the job. */
  checkpointsOfLease(id: string, token: string): Promise<JobCheckpoints>;
  signal(tenant: string, signal: Signal, idempotencyKey: string | null): Promise<SignalDelivery>;
  /** To one job, which need not wait for it yet. */
  signalJob(tenant: string, id: string, name: string, value: JsonText, key: string | null): Promise<SignalDelivery>;
  /** To the steps of a workflow, of which none need wait for it yet. */
  signalWorkflow(
    tenant: string,
    id: string,
    name: string,
    value: JsonText,
    key: string | null,
  ): Promise<SignalDelivery>;
  /** Jobs that wait for signals, the newest first. */
  waits(tenant: string, query: WaitsQuery): Promise<WaitPage>;
}

export interface SystemApi {
  /** True if the database answers and its schema is the one that this build expects. */
  ready(): Promise<boolean>;
  /** Names of the tasks that this process runs, or in mode `api` also those that others run; sorted. */
  tasks(): Promise<readonly string[]>;
  /** Those of the tasks that no process of the service has registered; none if no process runs any. */
  unregistered(tasks: readonly string[]): Promise<readonly string[]>;
  /** The database's clock. */
  now(): Promise<Instant>;
  stats(tenant: string): Stats;
}

export interface SeriesQuery {
  readonly queue: string | null;
  readonly task: string | null;
  /** Null: an hour before `to`. */
  readonly from: Instant | null;
  /** Null: now. */
  readonly to: Instant | null;
}

/** Of all tenants together. */
export type AdminSeriesQuery = Omit<SeriesQuery, 'task'>;

export interface InsightApi {
  counts(tenant: string, queue: string | null): Promise<Omit<Counts, 'warnings'>>;
  series(tenant: string, query: SeriesQuery): Promise<Omit<Series, 'warnings'>>;
  queue(tenant: string, queue: string): Promise<QueueDetail>;
  /** Those that held jobs of the tenant in the last hour, the last seen first. */
  workers(tenant: string): Promise<readonly Worker[]>;
  /** The keys that unfinished jobs name as limits, by queue and key. */
  limits(tenant: string, query: LimitsQuery): Promise<LimitPageRead>;
}

export interface LimitsQuery extends CursorQuery {
  /** Null: of all queues. */
  readonly queue: string | null;
}

export interface LimitPageRead {
  readonly limits: readonly AdminLimitUse[];
  readonly nextCursor: string | null;
}

export interface TenantPage {
  readonly tenants: readonly AdminTenant[];
  readonly nextCursor: string | null;
}

/** What operators see and do: all tenants together. */
export interface AdminApi {
  /** All but the version of the server. */
  overview(): Promise<Omit<AdminOverview, 'version'>>;
  queues(): Promise<readonly AdminQueue[]>;
  /** In the order of their names. */
  tenants(query: CursorQuery): Promise<TenantPage>;
  workers(): Promise<readonly Worker[]>;
  /** Whose jobs ended, over time. */
  series(query: AdminSeriesQuery): Promise<EndsByTenant>;
  /** By tenant, queue and key. */
  limits(query: LimitsQuery): Promise<LimitPageRead>;
  settings(queue: string): Promise<QueueSettings>;
  /** What is not given stays as it is. */
  set(queue: string, settings: QueueSettingsInput): Promise<QueueSettings>;
  /** From its commit on, no claim takes a job of the queue. What runs goes on. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
}

export interface Engine {
  readonly jobs: JobsApi;
  readonly worker: WorkerApi;
  readonly deadLetters: DeadLettersApi;
  readonly workflows: WorkflowsApi;
  readonly crons: CronsApi;
  readonly operations: OperationsApi;
  readonly durable: DurableApi;
  readonly system: SystemApi;
  readonly insight: InsightApi;
  readonly admin: AdminApi;
}
