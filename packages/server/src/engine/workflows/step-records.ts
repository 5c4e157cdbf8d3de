import type { JobStatus, SkipReason, StepStatus } from '@millrace/contract';
import { STEP, type StepLetter } from '../../domain/dag.js';
import { groupBy } from '../../domain/group-by.js';
import type { WorkflowStepRecord } from '../../domain/workflow-records.js';
import { toInstantOrNull } from '../../store/rows.js';
import type { Definition } from './definitions.js';

/** The steps of a workflow as people see them: the letters of its state, and the jobs that were created for them. */
export type JobOfStep = readonly [
  step: string,
  id: string,
  status: JobStatus,
  startedAt: string | null,
  completedAt: string | null,
  deliveryCount: number,
  error: string | null,
  nextRetryAt: string | null,
];

/** A job that a step had before its last one. */
export type EarlierJob = readonly [step: string, id: string];

/** The jobs of a workflow's steps, as the text of arrays; null when there is none. */
export interface JobTexts {
  /** Of JobOfStep. */
  readonly jobs: string | null;
  /** Of EarlierJob, oldest first. */
  readonly earlier: string | null;
}

export function stepRecords(definition: Definition, state: string, { jobs, earlier }: JobTexts): WorkflowStepRecord[] {
  const byStep = new Map((JSON.parse(jobs ?? '[]') as JobOfStep[]).map((job) => [job[0], job]));
  const before = groupBy(JSON.parse(earlier ?? '[]') as EarlierJob[], ([step]) => step);
  return definition.steps.map(({ name, wait }, step) => {
    const letter = state[step] as StepLetter;
    const job = byStep.get(name);
    const [, jobId = null, jobStatus = null, startedAt = null, completedAt = null, attempts = 0] = job ?? [];
    const [error = null, nextRetryAt = null] = (job?.slice(6) as [string?, string?] | undefined) ?? [];
    const earlierIds = (before.get(name) ?? []).map(([, id]) => id);
    return {
      name,
      status: wait && letter === STEP.enqueued ? 'running' : stepStatus(letter, jobStatus, attempts),
      job_id: jobId,
      started_at: toInstantOrNull(startedAt),
      completed_at: toInstantOrNull(completedAt),
      attempts,
      // What an attempt failed with is told of its job; a step that completed has nothing to complain of.
      error_message: letter === STEP.completed ? null : error,
      next_retry_at: toInstantOrNull(nextRetryAt),
      run: earlierIds.length + 1,
      earlier_job_ids: earlierIds,
      skipped_by: SKIPPED_BY[letter] ?? null,
    };
  });
}

const SKIPPED_BY: Partial<Record<StepLetter, SkipReason>> = {
  [STEP.skipped]: 'failure',
  [STEP.leftOut]: 'condition',
  [STEP.passed]: 'condition',
};

/** An enqueued step runs from its first attempt on: between attempts its job waits, for a retry, a signal or a time. */
function stepStatus(letter: StepLetter, jobStatus: JobStatus | null, attempts: number): StepStatus {
  switch (letter) {
    case STEP.blocked:
      return 'pending';
    case STEP.enqueued:
      return jobStatus === 'running' || jobStatus === 'retrying' || attempts > 0 ? 'running' : 'pending';
    case STEP.completed:
      return 'completed';
    case STEP.failed:
      return 'failed';
    case STEP.cancelled:
      return 'cancelled';
    case STEP.skipped:
    case STEP.leftOut:
    case STEP.passed:
      return 'skipped';
  }
}
