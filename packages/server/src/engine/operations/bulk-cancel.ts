import type { JobStatus } from '@millrace/contract';
import { isTerminal } from '../../domain/job-state.js';
import { uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { Cancellation } from '../outcomes/cancel.js';
import type { StepSettler } from '../workflows/step-settler.js';

/**
 * Cancels many jobs of one tenant in a transaction of the caller, each as a single cancellation would; the end of a
 * step advances its workflow.
 */
const sql = loadStatements('operations/batches.sql');

interface LiveJob {
  readonly id: string;
  readonly status: JobStatus;
  readonly workflow_id: string | null;
  readonly step: string | null;
}

/** Returns how many it cancelled. Jobs that are in none of these states any more are left alone. */
export async function cancelJobs(
  execute: Execute,
  tenant: string,
  ids: readonly string[],
  statuses: readonly JobStatus[] | null,
  steps: StepSettler,
  afterCommit: AfterCommit,
): Promise<number> {
  const live = (await liveJobs(execute, tenant, ids)).filter(({ status }) => statuses?.includes(status) ?? true);
  const ofSteps = live.flatMap(({ id, workflow_id: workflowId, step: name }) =>
    workflowId !== null && name !== null ? [{ id, workflowId, name }] : [],
  );
  const stepsCancelled = await steps.cancelSteps(execute, tenant, ofSteps, afterCommit);
  const plain = live.flatMap(({ id, workflow_id: workflowId }) => (workflowId === null ? [id] : []));
  const cancelled = await new Cancellation(execute, tenant, afterCommit).all(plain, async (missed) =>
    (await liveJobs(execute, tenant, missed)).map(({ id }) => id),
  );
  return stepsCancelled + cancelled;
}

async function liveJobs(execute: Execute, tenant: string, ids: readonly string[]): Promise<readonly LiveJob[]> {
  const jobs = await execute<LiveJob>(sql.jobs_to_cancel({ tenant, ids: uuidArray(ids) }));
  return jobs.filter(({ status }) => !isTerminal(status));
}
