import type { JsonObject } from '../json/object.js';
import type * as Wire from '../wire/index.js';
import { instant, instantOrNull } from './instants.js';

/** A schedule, as the service knows it. */
export interface Schedule {
  id: string;
  name: string;
  cron: string;
  timezone: string;
  task: string;
  payload: JsonObject;
  queue: string;
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
    enabled: cron.enabled,
    nextRunAt: instantOrNull(cron.next_run_at),
    lastEnqueuedAt: instantOrNull(cron.last_enqueued_at),
    createdAt: instant(cron.created_at),
  };
}

/** One firing of a schedule. */
export interface Firing {
  /** When the schedule was due. */
  occurrence: Date;
  firedAt: Date;
  kind: 'on_time' | 'catch_up' | 'triggered';
  jobId: string;
}

export function firingOf(firing: Wire.CronFiring): Firing {
  return {
    occurrence: instant(firing.occurrence),
    firedAt: instant(firing.fired_at),
    kind: firing.kind,
    jobId: firing.job_id,
  };
}
