import { knownInBothFormats } from '../shared/both-formats.js';
import type { Job } from '../records/jobs.js';
import type { Workflow, WorkflowStep } from '../records/workflows.js';

/** The job failed for good. */
export class JobFailedError extends Error {
  override readonly name = 'JobFailedError';
  readonly job: Job;

  constructor(job: Job) {
    super(`the job ${job.id} (${job.task}) failed: ${job.errorMessage ?? 'no reason given'}`);
    this.job = job;
  }
}

/** The job was cancelled. */
export class JobCancelledError extends Error {
  override readonly name = 'JobCancelledError';
  readonly job: Job;

  constructor(job: Job) {
    super(`the job ${job.id} (${job.task}) was cancelled`);
    this.job = job;
  }
}

/** The workflow failed: a step with the policy `halt` failed. */
export class WorkflowFailedError extends Error {
  override readonly name = 'WorkflowFailedError';
  readonly workflow: Workflow;
  readonly steps: readonly WorkflowStep[];

  constructor(workflow: Workflow, steps: readonly WorkflowStep[]) {
    const failed = steps.filter((step) => step.status === 'failed').map((step) => step.name);
    super(
      `the workflow ${workflow.id} (${workflow.name}) failed${failed.length > 0 ? ` at ${failed.join(', ')}` : ''}`,
    );
    this.workflow = workflow;
    this.steps = steps;
  }
}

/** The workflow was cancelled. */
export class WorkflowCancelledError extends Error {
  override readonly name = 'WorkflowCancelledError';
  readonly workflow: Workflow;

  constructor(workflow: Workflow) {
    super(`the workflow ${workflow.id} (${workflow.name}) was cancelled`);
    this.workflow = workflow;
  }
}

knownInBothFormats({ JobFailedError, JobCancelledError, WorkflowFailedError, WorkflowCancelledError });
