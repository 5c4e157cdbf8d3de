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
  leases: { job_id: string; status?: JobStatus; code?: ErrorCode }[];
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
