import { withContext } from '../../domain/context.js';
import type { Advance } from '../../domain/dag.js';
import { bucketOf, idSuffix } from '../../domain/ids.js';
import { int4Array, jsonArray, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/database.js';
import { loadStatements } from '../../store/sql.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { random32 } from '../shared/random.js';
import { currentContexts, type CompletedStep, type RunContext } from './run-context.js';
import type { JsonText, StepSpec } from '../../domain/records.js';

/** Writes down how workflows went on, and creates the jobs of the steps that became ready, each with the context of that moment. */
const sql = loadStatements('workflows.sql', ['advance_runs', 'jobs_of_steps']);

/** A run whose row this transaction has locked. */
export type LockedRun = RunContext;

export interface Change {
  readonly locked: LockedRun;
  readonly change: Advance;
  /** Steps that completed in this transaction, in order. */
  readonly completed: readonly CompletedStep[];
}

export interface StepJob {
  readonly tenant: string;
  readonly workflowId: string;
  readonly spec: StepSpec;
  readonly payload: JsonText;
}

interface Written {
  readonly change: Change;
  /** null: unchanged. */
  readonly context: JsonText | null;
  readonly unmerged: readonly number[];
}

export async function writeRuns(
  execute: Execute,
  changes: readonly Change[],
  queue: string,
  afterCommit: AfterCommit,
): Promise<void> {
  const contexts = await currentContexts(
    execute,
    changes.filter(needsContext).map(({ locked, completed }) => ({ run: locked, completed })),
  );
  const written = changes.map((change) => nextOf(change, contexts.get(change.locked.id) ?? null));
  const jobs = written.flatMap(jobsOf);
  await execute(sql.advance_runs, [...runColumns(written), ...jobColumns(jobs, queue)]);
  for (const { tenant, spec } of jobs) afterCommit.enqueued(tenant, queue, spec.jobConfig?.priority ?? 0);
}

/** The ids of the steps' jobs. */
export async function jobsOfSteps(
  execute: Execute,
  { id, definition }: LockedRun,
  steps: readonly number[],
): Promise<string[]> {
  if (steps.length === 0) return [];
  const names = steps.map((step) => definition.steps[step]!.name);
  const rows = await execute<{ id: string }>(sql.jobs_of_steps, [id, textArray(names)]);
  return rows.map((row) => row.id);
}

/** Somebody will look at it: a step that starts, or whoever asks after the end. */
const needsContext = ({ change: { enqueue, end } }: Change): boolean => enqueue.length > 0 || end !== null;

function nextOf(change: Change, context: JsonText | null): Written {
  const { locked, completed } = change;
  const unmerged = context === null ? [...locked.unmerged, ...completed.map(({ step }) => step)] : [];
  return { change, context, unmerged };
}

function jobsOf({ change: { locked, change }, context }: Written): StepJob[] {
  const { tenant, id, definition } = locked;
  return change.enqueue.map((step) => {
    const spec = definition.steps[step]!;
    return { tenant, workflowId: id, spec, payload: withContext(spec.payload, context!) };
  });
}

function runColumns(written: readonly Written[]): unknown[] {
  return [
    textArray(written.map(({ change }) => change.locked.tenant)),
    uuidArray(written.map(({ change }) => change.locked.id)),
    textArray(written.map(({ change }) => change.change.state)),
    jsonArray(written.map(({ context }) => context)),
    textArray(written.map(({ unmerged }) => `{${unmerged.join(',')}}`)),
    plainArray(written.map(({ change }) => change.change.end)),
  ];
}

/** Positions follow the order of the list, so that steps enqueued together keep the order of their definition. */
function jobColumns(jobs: readonly StepJob[], queue: string): unknown[] {
  return [
    textArray(stepSuffixes(jobs)),
    textArray(jobs.map((job) => job.tenant)),
    uuidArray(jobs.map((job) => job.workflowId)),
    ...stepColumns(jobs, queue),
  ];
}

export const stepSuffixes = (jobs: readonly StepJob[], firstPosition = 0): string[] =>
  jobs.map(({ tenant }, n) => idSuffix(firstPosition + n, bucketOf(tenant), random32(), true));

/** queue, task, priority, payload, config, metadata, step: the columns of a step's job that do not depend on how its workflow is named. */
export function stepColumns(jobs: readonly StepJob[], queue: string): unknown[] {
  return [
    textArray(jobs.map(() => queue)),
    textArray(jobs.map((job) => job.spec.task)),
    int4Array(jobs.map((job) => job.spec.jobConfig?.priority ?? 0)),
    jsonArray(jobs.map((job) => job.payload)),
    jsonArray(jobs.map((job) => (job.spec.jobConfig === null ? null : JSON.stringify(job.spec.jobConfig)))),
    jsonArray(jobs.map((job) => job.spec.metadata)),
    textArray(jobs.map((job) => job.spec.name)),
  ];
}
