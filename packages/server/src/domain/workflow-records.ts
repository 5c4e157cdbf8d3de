import type { JobConfig, OnFailure, OnTimeout, SkipReason, StepStatus, WorkflowStatus } from '@millrace/contract';
import type { Condition } from './conditions.js';
import type { Instant, JsonText } from './records.js';

export interface StepSpec {
  readonly name: string;
  readonly task: string;
  readonly payload: JsonText;
  readonly dependsOn: readonly string[];
  /** null: the default queue. */
  readonly queue: string | null;
  /** As given, under the stored field names: what the API shows. */
  readonly config: JsonText;
  /** The resulting configuration of the step's job. null: every default. */
  readonly jobConfig: JobConfig | null;
  readonly onFailure: OnFailure;
  readonly metadata: JsonText | null;
  /** Absent: it runs whatever came before. */
  readonly when?: StepWhen;
  /** Absent: it runs its task. */
  readonly wait?: StepWaitSpec;
}

/** A condition, with the text that is stored and shown. */
export interface StepWhen extends Condition {
  readonly text: JsonText;
}

/** What a step waits for instead of running a task. */
export interface StepWaitSpec {
  readonly signal: string;
  /** Null: the id of the workflow. */
  readonly key: string | null;
  readonly timeoutSecs: number;
  /** A question to a person. */
  readonly ask: JsonText | null;
  readonly onTimeout: OnTimeout;
}

export interface WorkflowSpec {
  readonly name: string;
  readonly steps: readonly StepSpec[];
  readonly context: JsonText;
  readonly metadata: JsonText | null;
}

export interface WorkflowRecord {
  readonly id: string;
  readonly tenant_id: string;
  readonly name: string;
  readonly status: WorkflowStatus;
  /** The steps as defined: the text of a JSON array, ready to be shown. */
  readonly steps: JsonText;
  readonly context: JsonText;
  readonly metadata: JsonText;
  readonly created_at: Instant;
  readonly started_at: Instant | null;
  readonly completed_at: Instant | null;
}

/** Without definitions and context. */
export interface WorkflowSummaryRecord extends Omit<WorkflowRecord, 'steps' | 'context'> {
  readonly steps_total: number;
  readonly steps_ended: number;
  readonly steps_by_status: Readonly<Record<StepStatus, number>>;
  /** The one that failed first. */
  readonly failed_step: { readonly name: string; readonly error: string | null } | null;
}

export interface WorkflowStepRecord {
  readonly name: string;
  readonly status: StepStatus;
  readonly job_id: string | null;
  readonly started_at: Instant | null;
  readonly completed_at: Instant | null;
  readonly attempts: number;
  readonly error_message: string | null;
  /** When its next attempt is due; null: it does not wait for one. */
  readonly next_retry_at: Instant | null;
  readonly run: number;
  readonly earlier_job_ids: readonly string[];
  readonly skipped_by: SkipReason | null;
}

/** What a resume begins with; null: every step that failed or was cancelled. */
export interface ResumeSpec {
  readonly steps: readonly string[] | null;
  /** Put over the context. Null: nothing. */
  readonly context: JsonText | null;
}

/** A workflow and its steps as of one instant. */
export interface WorkflowSnapshot {
  readonly workflow: WorkflowRecord;
  readonly steps: readonly WorkflowStepRecord[];
}
