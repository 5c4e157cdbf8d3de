import type { CreateJob } from './jobs.js';

/** Jobs that a running job creates. */

export interface ChildJob extends Omit<CreateJob, 'idempotency_key'> {
  name: string;
  detached?: boolean | null;
}

export interface ChildrenRequest {
  lease_token: string;
  jobs: ChildJob[];
}

export interface ChildrenCreated {
  job_ids: string[];
  warnings?: string[];
}
