import type { JsonObject } from '../json/object.js';
import type * as Wire from '../wire/index.js';
import { dateOf, dateOrNull } from './dates.js';

/** A schedule, as the service knows it. */
export interface Schedule {
  id: string;
  name: string;
  cron: string;
  timezone: string;
  /** Null, like the queue, if it starts workflows. */
  task: string | null;
  payload: JsonObject;
  queue: string | null;
  /** The name of the workflow that it starts; null if it enqueues jobs. */
  workflow: string | null;
  /** Whether an occurrence is skipped while the job or workflow of the last firing has not ended. */
  overlap: 'allow' | 'skip';
  /** False while paused. */
  enabled: boolean;
  nextRunAt: Date | null;
  lastEnqueuedAt: Date | null;
  createdAt: Date;
}

export function scheduleOf(cron: Wire.Cron): Schedule {
  return {
    id: cron.id,
    name: cron.name,
    cron: cron.cron_expr,
    timezone: cron.timezone,
    task: cron.task_name,
    payload: cron.payload,
    queue: cron.queue_name,
    // A server before 0.3 leaves it out.
    workflow: cron.workflow?.name ?? null,
    // A server before 0.3 leaves it out.
    overlap: cron.overlap ?? 'allow',
    enabled: cron.enabled,
    nextRunAt: dateOrNull(cron.next_run_at),
    lastEnqueuedAt: dateOrNull(cron.last_enqueued_at),
    createdAt: dateOf(cron.created_at),
  };
}

/** One firing of a schedule. */
export interface Firing {
  /** When the schedule was due. */
  occurrence: Date;
  firedAt: Date;
  kind: 'on_time' | 'catch_up' | 'triggered' | 'skipped';
  /** Null if it was skipped, or started a workflow. */
  jobId: string | null;
  /** Null if it was skipped, or enqueued a job. */
  workflowId: string | null;
}

export function firingOf(firing: Wire.CronFiring): Firing {
  return {
    occurrence: dateOf(firing.occurrence),
    firedAt: dateOf(firing.fired_at),
    kind: firing.kind,
    jobId: firing.job_id,
    workflowId: firing.workflow_id ?? null,
  };
}
