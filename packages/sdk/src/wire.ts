/**
 * The shapes on the wire that the SDK reads and writes. They are those of `@millrace/contract`, declared again so that
 * installing the SDK brings no validator along; a test compares the two, both ways.
 */
import type { JsonObject } from './json.js';

export type JobStatus = 'pending' | 'running' | 'retrying' | 'completed' | 'failed' | 'cancelled';
export type TerminalJobStatus = 'completed' | 'failed' | 'cancelled';
export type WorkflowStatus = 'created' | 'running' | 'completed' | 'failed' | 'partially_failed' | 'cancelled';
export type StepStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'skipped';
export type OnFailure = 'halt' | 'skip' | 'continue';
export type RetryBackoff = 'fixed' | 'linear' | 'exponential';
export type Feature = 'reports' | 'heartbeats' | 'release' | 'progress' | 'wait' | 'idempotency' | 'strict';
export type ErrorCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'lease_lost'
  | 'already_replayed'
  | 'already_finished'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'unavailable'
  | 'internal';

export interface ErrorDetail {
  path: string;
  message: string;
}

export interface ErrorBody {
  error: string;
  code: ErrorCode;
  timestamp: string;
  details?: ErrorDetail[];
}

export interface JobConfig {
  priority: number;
  max_retries: number;
  timeout_secs: number;
  retry_backoff: RetryBackoff;
  retry_delay_secs: number;
  retry_max_delay_secs: number;
  jitter_factor: number;
}

export interface PartialJobConfig {
  priority?: number | null;
  max_retries?: number | null;
  timeout?: number | null;
  timeout_secs?: number | null;
  retry_backoff?: RetryBackoff | null;
  retry_delay_secs?: number | null;
  retry_max_delay_secs?: number | null;
  jitter_factor?: number | null;
}

export interface JobConfigInput extends PartialJobConfig {
  queue?: string | null;
}

export interface Job {
  id: string;
  queue_name: string;
  task_name: string;
  payload: JsonObject;
  config: JobConfig;
  status: JobStatus;
  result: JsonObject | null;
  error_message: string | null;
  retry_count: number;
  delivery_count: number;
  created_at: string;
  scheduled_at: string;
  started_at: string | null;
  completed_at: string | null;
  next_retry_at: string | null;
  idempotency_key: string | null;
  workflow_id: string | null;
  workflow_step_id: string | null;
  tenant_id: string;
  metadata: JsonObject;
  worker_id: string | null;
  lease_expires_at: string | null;
  progress: JsonObject | null;
}

export interface CreateJob {
  task_name: string;
  payload?: JsonObject | null;
  config?: JobConfigInput | null;
  run_at?: string | null;
  delay_secs?: number | null;
  metadata?: JsonObject | null;
  idempotency_key?: string | null;
}

export interface CreateJobBatch {
  jobs: CreateJob[];
}

export interface JobCreated {
  job_id: string;
  warnings?: string[];
}

export interface JobBatchCreated {
  job_ids: string[];
  count: number;
  warnings?: string[];
}

export interface WaitRequest {
  job_ids: string[];
  until?: 'all' | 'any' | null;
  wait_secs?: number | null;
}

export interface WaitResponse {
  ended: { id: string; status: TerminalJobStatus }[];
  pending: string[];
  missing: string[];
}

export interface WhoAmI {
  kind: 'tenant' | 'worker' | 'admin' | 'developer';
  tenant_id: string | null;
  read_only: boolean;
  expires_at?: string;
  dev: boolean;
  version: string;
  default_queue: string;
  retention_hours: number | null;
  now: string;
  features: string[];
}

// The worker protocol.

export interface LeaseRequest {
  max_jobs?: number | null;
  lease_secs?: number | null;
  wait_secs?: number | null;
  worker_id?: string | null;
}

export interface LeasedJob {
  job: Job;
  lease_token: string;
}

export interface LeaseResponse {
  jobs: LeasedJob[];
}

export interface HeartbeatRequest {
  lease_token: string;
  extend_secs?: number | null;
  progress?: JsonObject | null;
}

export interface HeartbeatResponse {
  status: JobStatus;
}

export interface HeartbeatsRequest {
  extend_secs?: number | null;
  leases: { job_id: string; lease_token: string; progress?: JsonObject | null }[];
}

export interface HeartbeatsResponse {
  leases: { job_id: string; status?: JobStatus; code?: ErrorCode; error?: string }[];
}

export interface ErrorDetails {
  name?: string | null;
  stack?: string | null;
}

export interface CompleteRequest {
  lease_token: string;
  result?: JsonObject | null;
}

export interface FailRequest {
  lease_token: string;
  error: string;
  retryable?: boolean | null;
  retry_after_secs?: number | null;
  details?: ErrorDetails | null;
}

export interface ReleaseRequest {
  lease_token: string;
  delay_secs?: number | null;
}

export interface Report {
  job_id: string;
  lease_token: string;
  outcome: 'completed' | 'failed' | 'released';
  result?: JsonObject | null;
  error?: string;
  retryable?: boolean | null;
  retry_after_secs?: number | null;
  details?: ErrorDetails | null;
  delay_secs?: number | null;
}

export interface ReportsRequest {
  reports: Report[];
}

export interface ReportsResponse {
  reports: { job_id: string; ok?: true; code?: ErrorCode; error?: string }[];
}

// Lists.

export interface PageFields {
  limit: number;
  offset: number;
  has_more: boolean;
  next_cursor?: string;
  prev_cursor?: string;
  total?: number;
  warnings?: string[];
}

export interface JobPage extends PageFields {
  jobs: Job[];
  searched_to?: string;
}

export interface WorkflowPage extends PageFields {
  workflows: Workflow[];
  searched_to?: string;
}

export interface CronPage extends PageFields {
  crons: Cron[];
}

export interface CronFiringPage extends PageFields {
  firings: CronFiring[];
}

export interface DeadLetterPage extends PageFields {
  dead_letters: DeadLetter[];
  searched_to?: string;
}

// What is known about a job beyond its record.

export interface Attempt {
  number: number;
  outcome: 'completed' | 'failed' | 'timed_out' | 'lease_expired' | 'cancelled' | 'released' | 'running';
  worker_id: string | null;
  started_at: string | null;
  ended_at: string | null;
  error_message: string | null;
  error_details: ErrorDetails | null;
  next_retry_at: string | null;
}

export interface Attempts {
  attempts: Attempt[];
  omitted: number;
}

export interface Why {
  reason: 'due_later' | 'retry_backoff' | 'behind' | 'no_worker' | 'queue_paused' | 'running' | 'ended';
  message: string;
  until?: string;
  ahead?: number;
  last_lease_at?: string;
}

// Workflows.

export interface WorkflowStepInput {
  name: string;
  task_name: string;
  payload?: JsonObject | null;
  depends_on?: string[] | null;
  queue?: string | null;
  config?: PartialJobConfig | null;
  on_failure?: OnFailure | null;
  on_success?: 'continue' | null;
  metadata?: JsonObject | null;
}

export interface CreateWorkflow {
  name: string;
  steps: WorkflowStepInput[];
  context?: JsonObject | null;
  metadata?: JsonObject | null;
}

export interface WorkflowCreated {
  workflow_id: string;
  warnings?: string[];
}

export interface WorkflowStepDefinition {
  name: string;
  task_name: string;
  payload: JsonObject;
  depends_on: string[];
  config: PartialJobConfig;
  on_failure: OnFailure;
  on_success: 'continue';
  metadata: JsonObject;
  queue: string | null;
}

export interface Workflow {
  id: string;
  name: string;
  status: WorkflowStatus;
  steps: WorkflowStepDefinition[];
  context: JsonObject;
  metadata: JsonObject;
  created_at: string;
  started_at: string | null;
  completed_at: string | null;
  tenant_id: string;
}

export interface WorkflowStep {
  name: string;
  status: StepStatus;
  job_id: string | null;
  started_at: string | null;
  completed_at: string | null;
  attempts: number;
  error_message: string | null;
}

export interface WorkflowSteps {
  steps: WorkflowStep[];
}

export interface WorkflowEvent {
  workflow: Workflow;
  steps: WorkflowStep[];
}

export interface WorkflowDiagram {
  format: 'mermaid';
  diagram: string;
}

// Schedules.

export interface PutCron {
  name?: string | null;
  cron_expr: string;
  timezone?: string | null;
  task_name: string;
  payload?: JsonObject | null;
  queue?: string | null;
  config?: PartialJobConfig | null;
}

export interface CronCreated {
  cron_id: string;
  warnings?: string[];
}

export interface Cron {
  id: string;
  name: string;
  cron_expr: string;
  timezone: string;
  task_name: string;
  payload: JsonObject;
  queue_name: string;
  config: PartialJobConfig;
  enabled: boolean;
  next_run_at: string | null;
  last_enqueued_at: string | null;
  created_at: string;
  tenant_id: string;
}

export interface CronFiring {
  occurrence: string;
  fired_at: string;
  kind: 'on_time' | 'catch_up' | 'triggered';
  job_id: string;
}

export interface CronTriggered {
  job_id: string;
}

export interface NextRuns {
  next_run_at: string[];
}

export interface CronPreview {
  next: string[];
}

// Dead letters.

export type DeadLetterReason = 'max_attempts_exceeded' | 'non_retryable' | 'handler_not_found';

export interface DeadLetter {
  id: number;
  job_id: string;
  queue_name: string;
  task_name: string;
  reason: DeadLetterReason;
  error_message: string | null;
  created_at: string;
  replayed_at: string | null;
  replay_job_id: string | null;
  tenant_id: string;
  payload_bytes: number | null;
  retry_count: number | null;
  fingerprint: string;
}

export interface DeadLetterGroup {
  fingerprint: string;
  task_name: string;
  reason: DeadLetterReason;
  message: string | null;
  count: number;
  first_at: string;
  last_at: string;
  latest_id: number;
}

export interface DeadLetterGroups {
  groups: DeadLetterGroup[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}

// Operations, queues, workers.

export interface Count {
  n: number;
  exact: boolean;
}

export interface OperationFilter {
  status?: string;
  queue?: string;
  task?: string;
  workflow_id?: string;
  idempotency_key?: string;
  queue_name?: string;
  task_name?: string;
  reason?: DeadLetterReason;
  replayed?: boolean;
  job_id?: string;
  fingerprint?: string;
  created_after?: string;
  created_before?: string;
}

export interface CreateOperation {
  action: 'cancel_jobs' | 'replay_dead_letters';
  filter?: OperationFilter;
  ids?: string[] | null;
  dry_run?: boolean | null;
}

export interface OperationCreated {
  operation_id: string;
  warnings?: string[];
}

export interface DryRun {
  matched: Count;
  sample: { id: string; task_name: string; queue_name: string; created_at: string }[];
  warnings?: string[];
}

export interface Operation {
  id: string;
  action: 'cancel_jobs' | 'replay_dead_letters';
  filter: OperationFilter | null;
  status: 'running' | 'completed' | 'stopped' | 'failed';
  matched: Count;
  done: number;
  changed: number;
  skipped: number;
  outcome: { completed: number; failed: number; unfinished: number };
  created_at: string;
  completed_at: string | null;
}

export interface Operations {
  operations: Operation[];
  has_more: boolean;
  next_cursor?: string;
  warnings?: string[];
}

export interface QueueDepth {
  queue: string;
  pending: number;
  scheduled: number;
  running: number;
  oldest_pending_age_secs: number | null;
  retrying: number;
  paused_at: string | null;
  last_lease_at: string | null;
}

export interface Queues {
  queues: QueueDepth[];
  warnings?: string[];
}

export interface QueueDetail extends QueueDepth {
  by_task: { task_name: string; waiting: number; running: number }[];
  by_task_exact: boolean;
  next: { id: string; task_name: string; priority: number; scheduled_at: string }[];
}

export interface Worker {
  worker_id: string;
  queue_name: string;
  running: number;
  last_seen_at: string;
  completed: number;
  failed: number;
  expired: number;
}

export interface Workers {
  workers: Worker[];
  warnings?: string[];
}

export interface Tasks {
  tasks: string[];
}
