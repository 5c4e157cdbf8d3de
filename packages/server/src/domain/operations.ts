import type { Count, OperationAction, OperationStatus } from '@millrace/contract';
import type { DeadLetterFilter, JobFilter, WorkflowScope } from './filters.js';
import type { KeptCheckpoints } from './kept-checkpoints.js';
import type { Instant, JsonText } from './records.js';

/** What is done to jobs. */
export type JobAction = Extract<OperationAction, `${string}_jobs${string}`>;

/** What to do, and to what: a filter that suits the action, or ids. */
export type OperationSelection =
  | { readonly action: OperationAction; readonly ids: readonly string[] }
  | { readonly action: JobAction; readonly ids: null; readonly filter: JsonText; readonly scope: JobFilter }
  | {
      readonly action: 'replay_dead_letters';
      readonly ids: null;
      readonly filter: JsonText;
      readonly scope: DeadLetterFilter;
    }
  | {
      readonly action: 'resume_workflows';
      readonly ids: null;
      readonly filter: JsonText;
      readonly scope: WorkflowScope;
    };

export type OperationSpec = OperationSelection & {
  /** Which checkpoints replays keep; null: none. */
  readonly kept: KeptCheckpoints | null;
};

/** What the scope of an operation says of replays. */
export interface ReplayScope {
  readonly keptCheckpoints?: KeptCheckpoints;
}

export interface OperationRecord {
  readonly id: string;
  readonly action: OperationAction;
  /** As it was given; null: ids were. */
  readonly filter: JsonText | null;
  readonly status: OperationStatus;
  readonly matched: Count;
  readonly done: number;
  readonly changed: number;
  readonly skipped: number;
  readonly outcome: { readonly completed: number; readonly failed: number; readonly unfinished: number };
  readonly created_at: Instant;
  readonly completed_at: Instant | null;
}

export interface OperationItem {
  readonly id: string;
  /** Of a job or dead letter. */
  readonly task_name?: string;
  readonly queue_name?: string;
  /** Of a workflow. */
  readonly name?: string;
  readonly created_at: Instant;
}

export interface DryRunRecord {
  readonly matched: Count;
  readonly sample: readonly OperationItem[];
}
