import { mergeResults, withContext, type StepResult } from '../domain/context.js';
import { STEP, type Advance } from '../domain/dag.js';
import { bucketOf, idSuffix } from '../domain/ids.js';
import { int4Array, jsonArray, plainArray, textArray, uuidArray } from '../store/arrays.js';
import type { Run } from '../store/database.js';
import { loadStatements } from '../store/sql.js';
import type { Aftermath } from './aftermath.js';
import type { Definition } from './definitions.js';
import { random32 } from './random.js';
import type { JsonText, StepSpec } from './types.js';

/** Writes down how workflows went on, and creates the jobs of the steps that became ready, each with the context of that moment. */
const sql = loadStatements('workflows.sql', ['advance_runs', 'jobs_of_steps', 'results_of_steps']);

export interface LockedRun {
  readonly tenant: string;
  readonly id: string;
  readonly state: string;
  /** Steps whose results are not part of the context yet, in order of completion. */
  readonly unmerged: readonly number[];
  readonly context: JsonText;
  readonly definition: Definition;
}

export interface Change {
  readonly locked: LockedRun;
  readonly change: Advance;
  /** Steps that completed in this transaction, in order. */
  readonly completed: readonly { readonly step: number; readonly result: JsonText }[];
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
  run: Run,
  changes: readonly Change[],
  queue: string,
  aftermath: Aftermath,
): Promise<void> {
  const written: Written[] = [];
  const jobs: StepJob[] = [];
  for (const change of changes) {
    const next = await nextContext(run, change);
    written.push(next);
    const { tenant, id, definition, context } = change.locked;
    for (const step of change.change.enqueue) {
      const spec = definition.steps[step]!;
      jobs.push({ tenant, workflowId: id, spec, payload: withContext(spec.payload, next.context ?? context) });
    }
  }
  await run(sql.advance_runs, [...runColumns(written), ...jobColumns(jobs, queue)]);
  for (const { tenant, spec } of jobs) aftermath.enqueued(tenant, queue, spec.config?.priority ?? 0);
}

/** The ids of the steps' jobs. */
export async function jobsOfSteps(
  run: Run,
  { id, definition }: LockedRun,
  steps: readonly number[],
): Promise<string[]> {
  if (steps.length === 0) return [];
  const names = steps.map((step) => definition.steps[step]!.name);
  const rows = await run<{ id: string }>(sql.jobs_of_steps, [id, textArray(names)]);
  return rows.map((row) => row.id);
}

/** The results of steps that completed, by their place in `steps`. */
export async function resultsOfSteps(run: Run, workflowId: string, names: readonly string[]): Promise<StepResult[]> {
  if (names.length === 0) return [];
  const values = [uuidArray(names.map(() => workflowId)), textArray(names)];
  const rows = await run<{ n: string; result: JsonText }>(sql.results_of_steps, values);
  const results = new Map(rows.map((row) => [Number(row.n) - 1, row.result]));
  return names.flatMap((name, place) => (results.has(place) ? [{ name, result: results.get(place)! }] : []));
}

/** Merges only when somebody will look at the context: a step that starts, or whoever asks after the end. */
async function nextContext(run: Run, change: Change): Promise<Written> {
  const { locked, completed } = change;
  const { enqueue, end } = change.change;
  if (enqueue.length === 0 && end === null) {
    return { change, context: null, unmerged: [...locked.unmerged, ...completed.map(({ step }) => step)] };
  }
  const { steps } = locked.definition;
  const earlier = await resultsOfSteps(
    run,
    locked.id,
    locked.unmerged.map((step) => steps[step]!.name),
  );
  const now = completed.map(({ step, result }) => ({ name: steps[step]!.name, result }));
  const context = mergeResults(locked.context, [...earlier, ...now], wasMerged(locked));
  return { change, context, unmerged: [] };
}

/** Whether a name is that of a step whose result stands in the context already. */
export function wasMerged({
  state,
  unmerged,
  definition,
}: Pick<LockedRun, 'state' | 'unmerged' | 'definition'>): (name: string) => boolean {
  return (name) => {
    const step = definition.indexOf.get(name);
    return step !== undefined && state[step] === STEP.completed && !unmerged.includes(step);
  };
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
    int4Array(jobs.map((job) => job.spec.config?.priority ?? 0)),
    jsonArray(jobs.map((job) => job.payload)),
    jsonArray(jobs.map((job) => (job.spec.config === null ? null : JSON.stringify(job.spec.config)))),
    jsonArray(jobs.map((job) => job.spec.metadata)),
    textArray(jobs.map((job) => job.spec.name)),
  ];
}
