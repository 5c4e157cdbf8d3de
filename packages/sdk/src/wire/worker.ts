/** The worker protocol: leases, heartbeats and reports. */
import type { JsonObject } from '../json/object.js';
import type { ErrorCode } from './common.js';
import type { SuspendWait } from './durable.js';
import type { ErrorDetails, Job, JobStatus } from './jobs.js';
import type { NewLogLine } from './logs.js';

export interface LeaseRequest {
  max_jobs?: number | null;
  lease_secs?: number | null;
  wait_secs?: number | null;
  worker_id?: string | null;
  slots?: number | null;
  tasks?: string[] | null;
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
  logs?: NewLogLine[] | null;
}

export interface HeartbeatResponse {
  status: JobStatus;
}

export interface HeartbeatsRequest {
  extend_secs?: number | null;
  leases: { job_id: string; lease_token: string; progress?: JsonObject | null; logs?: NewLogLine[] | null }[];
}

export interface HeartbeatsResponse {
  leases: { job_id: string; status?: JobStatus; code?: ErrorCode; error?: string }[];
}

export interface CompleteRequest {
  lease_token: string;
  result?: JsonObject | null;
  logs?: NewLogLine[] | null;
}

export interface FailRequest {
  lease_token: string;
  error: string;
  retryable?: boolean | null;
  retry_after_secs?: number | null;
  details?: ErrorDetails | null;
  logs?: NewLogLine[] | null;
}

export interface ReleaseRequest {
  lease_token: string;
  delay_secs?: number | null;
  logs?: NewLogLine[] | null;
}

export interface Report {
  job_id: string;
  lease_token: string;
  outcome: 'completed' | 'failed' | 'released' | 'suspended';
  result?: JsonObject | null;
  error?: string;
  retryable?: boolean | null;
  retry_after_secs?: number | null;
  details?: ErrorDetails | null;
  delay_secs?: number | null;
  checkpoint?: string;
  until?: string | null;
  wait?: SuspendWait | null;
  traceparent?: string | null;
  logs?: NewLogLine[] | null;
}

export interface ReportsRequest {
  reports: Report[];
}

export interface ReportsResponse {
  reports: { job_id: string; ok?: true; code?: ErrorCode; error?: string }[];
}
