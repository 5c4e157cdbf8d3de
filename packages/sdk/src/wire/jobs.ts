/** Jobs: creating, reading and waiting for them, and what is known beyond the record. */
import type { JsonObject } from '../json/object.js';
import type { PageFields } from './common.js';
import type { WaitingFor } from './durable.js';

export type { Why } from '../rules/why.js';

/** The states of a job. */
export type JobStatus = 'pending' | 'running' | 'retrying' | 'completed' | 'failed' | 'cancelled';
export type TerminalJobStatus = 'completed' | 'failed' | 'cancelled';
export type RetryBackoff = 'fixed' | 'linear' | 'exponential';

/** How many jobs may start in a while, evenly spaced. */
export interface RateInput {
  count: number;
  per_secs: number;
  burst?: number | null;
}

/** How many jobs of a key may run at a time, or start in a while. */
export interface LimitInput {
  key: string;
  running?: number | null;
  rate?: RateInput | null;
}

/** One job instead of several. */
export interface UniqueInput {
  key: string;
  while: 'waiting' | 'unfinished';
  on_conflict?: 'keep' | 'replace' | null;
  max_wait_secs?: number | null;
}

export interface JobConfig {
  priority: number;
  max_retries: number;
  timeout_secs: number;
  retry_backoff: RetryBackoff;
  retry_delay_secs: number;
  retry_max_delay_secs: number;
  jitter_factor: number;
  limits?: LimitInput[];
  expires_secs?: number;
  expires_at?: string;
  unique?: UniqueInput;
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
  limits?: LimitInput[] | null;
}

export interface ScheduleJobConfig extends PartialJobConfig {
  expires_secs?: number | null;
}

export interface JobConfigInput extends ScheduleJobConfig {
  queue?: string | null;
  expires_at?: string | null;
  unique?: UniqueInput | null;
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
  parent_job_id?: string;
  tenant_id: string;
  metadata: JsonObject;
  worker_id: string | null;
  lease_expires_at: string | null;
  progress: JsonObject | null;
  waiting_for?: WaitingFor;
  error_details?: ErrorDetails;
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
  replayed?: number[];
  existing?: number[];
  warnings?: string[];
}

export interface JobPage extends PageFields {
  jobs: Job[];
  searched_to?: string;
}

export interface JobSummary extends Omit<Job, 'payload' | 'result' | 'metadata' | 'error_details'> {
  payload_bytes: number;
}

export interface EndedJobs {
  jobs: JobSummary[];
  next: string;
  more: boolean;
  missed: boolean;
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

export interface ErrorDetails {
  name?: string | null;
  stack?: string | null;
}

export interface Attempt {
  number: number;
  outcome: 'completed' | 'failed' | 'timed_out' | 'lease_expired' | 'cancelled' | 'released' | 'suspended' | 'running';
  worker_id: string | null;
  started_at: string | null;
  ended_at: string | null;
  error_message: string | null;
  error_details: ErrorDetails | null;
  next_retry_at: string | null;
}

export interface Attempts {
  first_due_at: string;
  attempts: Attempt[];
  omitted: number;
}
