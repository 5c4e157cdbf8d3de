import type { CronFiringKind, CronOverlap, JobConfig } from '@millrace/contract';
import type { Instant, JsonText } from './records.js';
import type { WorkflowSpec } from './workflow-records.js';

export interface CronSpec {
  readonly name: string;
  readonly expr: string;
  /** An IANA name. */
  readonly timezone: string;
  readonly overlap: CronOverlap;
  /** Null: it starts a workflow. */
  readonly task: string | null;
  readonly queue: string | null;
  readonly payload: JsonText;
  /** As given, under the stored field names: what the API shows. */
  readonly config: JsonText;
  /** The resulting configuration of each job. null: every default. */
  readonly jobConfig: JobConfig | null;
  /** What it starts; null: a job. */
  readonly workflow: WorkflowSpec | null;
}

export interface CronRecord {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly cron_expr: string;
  readonly timezone: string;
  /** Null: it starts a workflow. */
  readonly task_name: string | null;
  readonly workflow: JsonText | null;
  readonly payload: JsonText;
  readonly queue_name: string | null;
  readonly config: JsonText;
  readonly overlap: CronOverlap;
  readonly enabled: boolean;
  /** null after the last occurrence. */
  readonly next_run_at: Instant | null;
  readonly last_enqueued_at: Instant | null;
  readonly created_at: Instant;
}

export interface CronFiringRecord {
  readonly occurrence: Instant;
  readonly fired_at: Instant;
  readonly kind: CronFiringKind;
  /** Null: it started a workflow, or was skipped. */
  readonly job_id: string | null;
  readonly workflow_id: string | null;
}
