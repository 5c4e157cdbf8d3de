import { composePayload, withoutContext } from '../../domain/context.js';
import type { Advance } from '../../domain/dag.js';
import { bucketOf, idSuffix } from '../../domain/ids.js';
import { int4Array, jsonArray, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { limitsColumn } from '../limits/create-limited.js';
import { limitIdsOf } from '../shared/limit-id.js';
import type { AfterCommit } from '../outcomes/after-commit.js';
import { random32 } from '../shared/random.js';
import { declareRules, openWaits } from './step-waits.js';
import { currentContexts, isOutdated, type CompletedStep, type RunContext } from './run-context.js';
import type { JsonText } from '../../domain/records.js';
import type { StepSpec } from '../../domain/workflow-records.js';

/**
 * Writes the progress of workflows, and creates the jobs of the steps that became ready, each with the context at that
 * moment. If a context is short, given the number of steps that receive it, it is copied into their payloads. Otherwise
 * it is stored once, under the next version, and the jobs refer to that: a fan-out of three hundred then writes its
 * context once, not three hundred times.
 */
const sql = loadStatements('workflows/runs.sql');

/** From this many bytes of context, over all the steps that receive it, it is cheaper to store it separately. */
const MIN_BYTES_APART = 500;

/** A run whose row this transaction has locked. */
export interface LockedRun extends RunContext {
  /** The current context is the one stored as `version`. */
  readonly stored_apart: boolean;
  /** The version that was stored last. Null: none yet. */
  readonly version: number | null;
  /** How many bytes have entered the context so far, each result counted once. */
  readonly context_bytes: number;
  /** How often the workflow was resumed; null: never. Known of a run that was locked alone. */
  readonly resumes?: number | null;
}

export interface Change {
  readonly locked: LockedRun;
  readonly advance: Advance;
  /** Steps that completed in this transaction, in order. */
  readonly completed: readonly CompletedStep[];
  /** How many bytes have entered the context, including those. */
  readonly contextBytes: number;
  /** The context with all of that in it, if it has been read. */
  readonly context?: JsonText;
}

/** A context as the jobs that are enqueued with it receive it. `version` null: it is copied into their payloads. */
export interface SharedContext {
  readonly text: JsonText;
  readonly bytes: number;
  readonly version: number | null;
}

export interface NewStepJob {
  readonly tenant: string;
  readonly workflowId: string;
  readonly spec: StepSpec;
  readonly context: SharedContext;
}

interface Written {
  readonly change: Change;
  /** Null: it is not needed now. */
  readonly context: SharedContext | null;
  /** The context must be written: it was merged, or is stored separately from now on. */
  readonly isNew: boolean;
  readonly unmerged: readonly number[];
}

export async function writeRuns(
  execute: Execute,
  changes: readonly Change[],
  queue: string,
  afterCommit: AfterCommit,
): Promise<void> {
  const needing = changes.filter(needsContext);
  const unread = needing.filter(({ context }) => context === undefined);
  const contexts = await currentContexts(execute, unread.map(outdatedBy));
  for (const { locked, context } of needing) if (context !== undefined) contexts.set(locked.id, context);
  const written = changes.map((change) => nextOf(change, contexts.get(change.locked.id) ?? null));
  const jobs = written.flatMap(jobsOf);
  const rules = changes.map(({ locked }) => locked.definition.rules);
  await declareRules(execute, rules);
  await execute(sql.advance_runs(Object.assign(runColumns(written), jobColumns(jobs, queue))));
  await openWaits(execute, jobs);
  for (const job of jobs) {
    const { tenant, spec } = job;
    const origin = { tenant, queue: spec.queue ?? queue, task: spec.task };
    afterCommit.enqueued(origin, spec.jobConfig?.priority ?? 0, limitsOf(job, queue)?.[0]);
  }
}

/** How the steps that are enqueued with a context receive it. `next`: the version that it would be stored as. */
export function shareContext(text: JsonText, steps: number, next: number): SharedContext {
  const bytes = Buffer.byteLength(text);
  return { text, bytes, version: bytes * steps < MIN_BYTES_APART ? null : next };
}

/** The ids of the steps' jobs. */
export async function jobsOfSteps(
  execute: Execute,
  { id, definition }: LockedRun,
  steps: readonly number[],
): Promise<string[]> {
  if (steps.length === 0) return [];
  const names = steps.map((step) => definition.steps[step]!.name);
  const rows = await execute<{ id: string }>(sql.jobs_of_steps({ workflow_id: id, steps: textArray(names) }));
  return rows.map((row) => row.id);
}

const outdatedBy = ({ locked, completed }: Change): { run: LockedRun; completed: readonly CompletedStep[] } => ({
  run: locked,
  completed,
});

/** Steps that start need the context, and so do reads once the run has ended. */
const needsContext = (change: Change): boolean =>
  change.advance.enqueue.length > 0 || (change.advance.end !== null && isOutdated(outdatedBy(change)));

function nextOf(change: Change, text: JsonText | null): Written {
  const { locked, completed, advance } = change;
  const unmerged = [...locked.unmerged, ...completed.map(({ step }) => step)];
  if (text === null) return { change, context: null, isNew: false, unmerged };
  const isMerged = unmerged.length > 0;
  if (locked.stored_apart && !isMerged) {
    const context = { text, bytes: Buffer.byteLength(text), version: locked.version };
    return { change, context, isNew: false, unmerged: [] };
  }
  const context = shareContext(text, advance.enqueue.length, (locked.version ?? 0) + 1);
  return { change, context, isNew: isMerged || context.version !== null, unmerged: [] };
}

function jobsOf({ change: { locked, advance }, context }: Written): NewStepJob[] {
  const { tenant, id, definition } = locked;
  return advance.enqueue.map((step) => ({
    tenant,
    workflowId: id,
    spec: definition.steps[step]!,
    context: context!,
  }));
}

const runColumns = (written: readonly Written[]) => ({
  tenants: textArray(written.map(({ change }) => change.locked.tenant)),
  ids: uuidArray(written.map(({ change }) => change.locked.id)),
  states: textArray(written.map(({ change }) => change.advance.state)),
  contexts: jsonArray(written.map(({ context, isNew }) => (isNew ? context!.text : null))),
  unmerged: textArray(written.map(({ unmerged }) => `{${unmerged.join(',')}}`)),
  endings: plainArray(written.map(({ change }) => change.advance.end)),
  versions: int4Array(written.map(({ context, isNew }) => (isNew ? context!.version : null))),
  context_bytes: int4Array(written.map(({ change }) => change.contextBytes)),
});

/** Positions follow the order of the list, so that steps enqueued together keep the order of their definition. */
const jobColumns = (jobs: readonly NewStepJob[], queue: string) => ({
  job_suffixes: textArray(stepSuffixes(jobs)),
  job_tenants: textArray(jobs.map((job) => job.tenant)),
  job_workflow_ids: uuidArray(jobs.map((job) => job.workflowId)),
  ...stepColumns(jobs, queue),
});

export const stepSuffixes = (jobs: readonly NewStepJob[], firstPosition = 0): string[] =>
  jobs.map(({ tenant, spec }, n) =>
    idSuffix(firstPosition + n, bucketOf(tenant), random32(), {
      isStep: true,
      isLimited: spec.jobConfig?.limits !== undefined,
    }),
  );

/** The limits that the job of a step names; null: none. */
export const limitsOf = ({ tenant, spec }: NewStepJob, queue: string): readonly string[] | null =>
  limitIdsOf(tenant, spec.queue ?? queue, spec.jobConfig);

/** The columns of a step's job that do not depend on how its workflow is named. */
export const stepColumns = (jobs: readonly NewStepJob[], queue: string) => ({
  job_queues: textArray(jobs.map((job) => job.spec.queue ?? queue)),
  job_tasks: textArray(jobs.map((job) => job.spec.task)),
  job_priorities: int4Array(jobs.map((job) => job.spec.jobConfig?.priority ?? 0)),
  job_payloads: jsonArray(jobs.map(payloadOf)),
  job_configs: jsonArray(jobs.map((job) => (job.spec.jobConfig === null ? null : JSON.stringify(job.spec.jobConfig)))),
  job_metadata: jsonArray(jobs.map((job) => job.spec.metadata)),
  job_steps: textArray(jobs.map((job) => job.spec.name)),
  job_contexts: int4Array(jobs.map(({ context }) => context.version)),
  job_context_bytes: int4Array(jobs.map(({ context }) => (context.version === null ? null : context.bytes))),
  job_limits: limitsColumn(jobs.map((job) => limitsOf(job, queue))),
});

function payloadOf({ spec, context }: NewStepJob): JsonText {
  const payload = withoutContext(spec.payload);
  return context.version === null ? composePayload(payload, context.text) : payload;
}
