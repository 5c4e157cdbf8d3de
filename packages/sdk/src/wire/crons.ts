/** Schedules and their firings. */
import type { JsonObject } from '../json/object.js';
import type { PageFields } from './common.js';
import type { ScheduleJobConfig } from './jobs.js';

export interface PutCron {
  name?: string | null;
  cron_expr: string;
  timezone?: string | null;
  task_name: string;
  payload?: JsonObject | null;
  queue?: string | null;
  config?: ScheduleJobConfig | null;
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
  config: ScheduleJobConfig;
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
  kind: 'on_time' | 'catch_up' | 'triggered';
  job_id: string;
}

export interface CronFiringPage extends PageFields {
  firings: CronFiring[];
}

export interface CronTriggered {
  job_id: string;
}

export interface NextRuns {
  next_run_at: string[];
  warnings?: string[];
}

export interface CronPreview {
  next: string[];
}
