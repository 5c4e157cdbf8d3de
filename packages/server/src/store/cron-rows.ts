import type { CronFiringKind } from '@millrace/contract';
import type { CronFiringRecord, CronRecord } from '../domain/cron-records.js';
import type { JsonText } from '../domain/records.js';
import { columnsOf, toInstant, toInstantOrNull } from './rows.js';

/** Schedules and firings as PostgreSQL returns them ⇄ records as the engine exposes them. */
export interface CronRow {
  readonly tenant: string;
  readonly id: string;
  readonly name: string;
  readonly expr: string;
  readonly timezone: string;
  /** A bigint, as text. */
  readonly revision: string;
  /** Null: it starts workflows. */
  readonly task: string | null;
  readonly queue: string | null;
  readonly payload: JsonText;
  readonly config: JsonText;
  readonly enabled: boolean;
  readonly skips: boolean | null;
  /** Means nothing beside a task. */
  readonly workflow: JsonText | null;
  readonly next_run_at: string | null;
  readonly last_enqueued_at: string | null;
  readonly created_at: string;
}

export interface CronFiringRow {
  readonly number: string;
  readonly occurrence: string;
  readonly fired_at: string;
  readonly kind: CronFiringKind;
  readonly job_id: string | null;
  readonly workflow_id: string | null;
}

export const CRON_COLUMNS = columnsOf<CronRow>({
  tenant: true,
  id: true,
  name: true,
  expr: true,
  timezone: true,
  revision: true,
  task: true,
  queue: true,
  payload: true,
  config: true,
  enabled: true,
  skips: true,
  workflow: true,
  next_run_at: true,
  last_enqueued_at: true,
  created_at: true,
});

export const FIRING_COLUMNS = columnsOf<CronFiringRow>({
  number: true,
  occurrence: true,
  fired_at: true,
  kind: true,
  job_id: true,
  workflow_id: true,
});

export function toCron(row: CronRow): CronRecord {
  return {
    id: row.id,
    tenant_id: row.tenant,
    name: row.name,
    cron_expr: row.expr,
    timezone: row.timezone,
    task_name: row.task,
    workflow: row.task === null ? row.workflow : null,
    payload: row.payload,
    queue_name: row.queue,
    config: row.config,
    enabled: row.enabled,
    overlap: row.skips === true ? 'skip' : 'allow',
    next_run_at: toInstantOrNull(row.next_run_at),
    last_enqueued_at: toInstantOrNull(row.last_enqueued_at),
    created_at: toInstant(row.created_at),
  };
}

export function toCronFiring(row: CronFiringRow): CronFiringRecord {
  return {
    occurrence: toInstant(row.occurrence),
    fired_at: toInstant(row.fired_at),
    kind: row.kind,
    job_id: row.job_id,
    workflow_id: row.workflow_id,
  };
}

/** A schedule's position among those of its tenant, in the order in which they fire next. */
export interface CronDue {
  /** Null if it is paused or past its last occurrence; such schedules sort after all others. */
  readonly at: string | null;
  readonly id: string;
}

export const cronDue = ({ enabled, next_run_at, id }: CronRow): CronDue => ({
  at: enabled ? toInstantOrNull(next_run_at) : null,
  id,
});
