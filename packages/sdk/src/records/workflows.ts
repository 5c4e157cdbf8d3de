import type { JsonObject } from '../json/object.js';
import type * as Wire from '../wire/index.js';
import { dateOf, dateOrNull } from './dates.js';

/** A workflow, as the service knows it. */
export interface Workflow {
  id: string;
  name: string;
  status: Wire.WorkflowStatus;
  /** The results of the steps that have completed, merged: keys first, then each whole result under its step's name. */
  context: JsonObject;
  metadata: JsonObject;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
}

/** One step of a running workflow. */
export interface WorkflowStep {
  name: string;
  status: Wire.StepStatus;
  /** Null until the steps before it have completed. */
  jobId: string | null;
  startedAt: Date | null;
  completedAt: Date | null;
  attempts: number;
  errorMessage: string | null;
  /** When its job is tried again, while it waits for that; its status is `running` then. */
  nextRetryAt: Date | null;
  /** 1, and one more for every job that it had before a resume. */
  run: number;
  /** The jobs that it had before it was resumed, oldest first. */
  earlierJobIds: string[];
  /** Of a skipped step: whether a condition or a failure skipped it. */
  skippedBy: 'condition' | 'failure' | null;
}

export function workflowOf(workflow: Wire.Workflow): Workflow {
  return {
    id: workflow.id,
    name: workflow.name,
    status: workflow.status,
    context: workflow.context,
    metadata: workflow.metadata,
    createdAt: dateOf(workflow.created_at),
    startedAt: dateOrNull(workflow.started_at),
    completedAt: dateOrNull(workflow.completed_at),
  };
}

export function stepOf(step: Wire.WorkflowStep): WorkflowStep {
  return {
    name: step.name,
    status: step.status,
    jobId: step.job_id,
    // A server before 0.3 leaves these out.
    startedAt: dateOrNull(step.started_at),
    completedAt: dateOrNull(step.completed_at),
    attempts: step.attempts ?? 0,
    errorMessage: step.error_message ?? null,
    nextRetryAt: dateOrNull(step.next_retry_at),
    run: step.run ?? 1,
    earlierJobIds: step.earlier_job_ids ?? [],
    skippedBy: step.skipped_by ?? null,
  };
}
