import type { JobStatus } from '@millrace/contract';
import { unavailable } from '../../domain/errors.js';
import { isTerminal } from '../../domain/job-state.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { cancelWaiting, plainSettlement, runSettle } from '../outcomes/settlement.js';
import type { StepSettler } from '../workflows/step-settler.js';

/**
 * Cancels many jobs of one tenant in a transaction of the caller, each as a single cancellation would: waiting ones are
 * taken out of their queue, running ones lose their lease, members leave their bundle first, and the end of a step
 * advances its workflow.
 */
const sql = loadStatements('operations.sql', ['jobs_to_cancel']);
const leaseSql = loadStatements('lease.sql', ['unbundle']);

/** A round misses a job only if it moves between two statements; none keeps that up for this many rounds. */
const ROUNDS = 100;

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
  let left: readonly LiveJob[] = live.filter(({ workflow_id: workflowId }) => workflowId === null);
  let cancelled = 0;
  for (let round = 0; left.length > 0; round++) {
    if (round === ROUNDS) throw unavailable('the jobs of the operation move too fast to be cancelled');
    const before = left.map(({ id }) => id);
    const missed = await cancelPlain(execute, tenant, before, afterCommit);
    cancelled += before.length - missed.length;
    left = missed.length === 0 ? [] : await liveJobs(execute, tenant, missed);
  }
  return stepsCancelled + cancelled;
}

async function liveJobs(execute: Execute, tenant: string, ids: readonly string[]): Promise<readonly LiveJob[]> {
  const jobs = await execute<LiveJob>(sql.jobs_to_cancel, [tenant, uuidArray(ids)]);
  return jobs.filter(({ status }) => !isTerminal(status));
}

/** One round: returns those that it found in none of the tables. */
async function cancelPlain(
  execute: Execute,
  tenant: string,
  ids: readonly string[],
  afterCommit: AfterCommit,
): Promise<readonly string[]> {
  const waiting = await cancelWaiting(execute, tenant, ids, false);
  for (const { id, queue, task, watched } of waiting)
    afterCommit.cancelledWaiting(id, { tenant, queue, task }, watched > 0);
  const held = await cancelRunning(execute, without(ids, waiting), afterCommit);
  if (held.length === 0) return [];
  const unbundled = await execute<{ id: string }>(leaseSql.unbundle, [
    textArray(held.map(() => tenant)),
    uuidArray(held),
    uuidArray(held.map(() => null)),
  ]);
  const missed = await cancelRunning(
    execute,
    unbundled.map(({ id }) => id),
    afterCommit,
  );
  return [...without(held, unbundled), ...missed];
}

async function cancelRunning(
  execute: Execute,
  ids: readonly string[],
  afterCommit: AfterCommit,
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const settlements = ids.map((id) => plainSettlement(id, null, 'cancelled'));
  const running = await runSettle(execute, settlements, false);
  for (const row of running) afterCommit.settled(row);
  return without(ids, running);
}

function without(ids: readonly string[], rows: readonly { readonly id: string }[]): readonly string[] {
  const gone = new Set(rows.map((row) => row.id));
  return ids.filter((id) => !gone.has(id));
}
