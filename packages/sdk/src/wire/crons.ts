/** Schedules and their firings. */
import type { JsonObject } from '../json/object.js';
import type { PageFields } from './common.js';
import type { ScheduleJobConfig } from './jobs.js';
import type { CreateWorkflow } from './workflows.js';

/** Whether a schedule fires while what its last firing brought about has not ended. */
export type CronOverlap = 'allow' | 'skip';

/** The workflow that each firing starts, as in a request. */
export type ScheduledWorkflow = CreateWorkflow;

export interface PutCron {
  name?: string | null;
  cron_expr: string;
  timezone?: string | null;
  task_name?: string | null;
  workflow?: ScheduledWorkflow | null;
  payload?: JsonObject | null;
  queue?: string | null;
  config?: ScheduleJobConfig | null;
  overlap?: CronOverlap | null;
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
  task_name: string | null;
  workflow: ScheduledWorkflow | null;
  payload: JsonObject;
  queue_name: string | null;
  config: ScheduleJobConfig;
  overlap: CronOverlap;
  enabled: boolean;
  next_run_at: string | null;
  last_enqueued_at: string | null;
  created_at: string;
  tenant_id: string;
}

export interface CronPage extends PageFields {
  crons: Cron[];
}

export interface CronFiring {
  occurrence: string;
  fired_at: string;
  kind: 'on_time' | 'catch_up' | 'triggered' | 'skipped';
  job_id: string | null;
  workflow_id: string | null;
}

export interface CronFiringPage extends PageFields {
  firings: CronFiring[];
}

export interface CronTriggered {
  job_id?: string;
  workflow_id?: string;
}

export interface NextRuns {
  next_run_at: string[];
  warnings?: string[];
}

export interface CronPreview {
  next: string[];
}
