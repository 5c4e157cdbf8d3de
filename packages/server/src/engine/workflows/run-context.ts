import { mergeResults } from '../../domain/context.js';
import { STEP } from '../../domain/dag.js';
import { groupBy } from '../../domain/group-by.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Definition } from './definitions.js';
import type { JsonText } from '../../domain/records.js';

/**
 * The context of a run is merged only when it is needed. Until then the run lists, in order of completion, the steps
 * whose results belong to it; the results stay where they are, with their jobs. A fan-in of a thousand thus merges
 * once, not a thousand times. What can ever be merged is bounded: each completion is checked when it is reported
 * (context-limit.ts).
 */
const sql = loadStatements('workflows/runs.sql');

export interface CompletedStep {
  readonly step: number;
  readonly result: JsonText;
}

export interface RunContext {
  readonly tenant: string;
  readonly id: string;
  readonly state: string;
  /** null: not read yet. */
  readonly context: JsonText | null;
  /** Steps whose results are not part of the context yet, in order of completion. */
  readonly unmerged: readonly number[];
  readonly definition: Definition;
}

export interface Outdated {
  readonly run: RunContext;
  /** Steps that completed after those that the run knows of, in order. */
  readonly completed: readonly CompletedStep[];
}

/** Whether anything has completed since the context was merged. */
export const isOutdated = ({ run, completed }: Outdated): boolean => run.unmerged.length + completed.length > 0;

/** The up-to-date contexts by workflow id, with at most two statements, however many there are. */
export async function currentContexts(execute: Execute, outdated: readonly Outdated[]): Promise<Map<string, JsonText>> {
  const runs = outdated.map(({ run }) => run);
  const contexts = await readContexts(execute, runs);
  const results = await readResults(execute, runs);
  return new Map(
    outdated.map(({ run: { id, ...rest }, completed }) => {
      const { steps } = rest.definition;
      const late = [...(results.get(id) ?? []), ...completed];
      const named = late.map(({ step, result }) => ({ name: steps[step]!.name, result }));
      return [id, mergeResults(contexts.get(id)!, named, mergedSteps(rest))];
    }),
  );
}

async function readContexts(execute: Execute, runs: readonly RunContext[]): Promise<Map<string, JsonText>> {
  const known = runs.flatMap(({ id, context }) => (context === null ? [] : [[id, context] as const]));
  const unread = runs.filter(({ context }) => context === null);
  if (unread.length === 0) return new Map(known);
  const keys = { tenants: textArray(unread.map(({ tenant }) => tenant)), ids: uuidArray(unread.map(({ id }) => id)) };
  const rows = await execute<{ id: string; context: JsonText }>(sql.contexts_of(keys));
  return new Map([...known, ...rows.map(({ id, context }) => [id, context] as const)]);
}

async function readResults(execute: Execute, runs: readonly RunContext[]): Promise<Map<string, CompletedStep[]>> {
  const wanted = runs.flatMap(({ id, unmerged, definition }) =>
    unmerged.map((step) => ({ id, step, name: definition.steps[step]!.name })),
  );
  if (wanted.length === 0) return new Map();
  const workflow_ids = uuidArray(wanted.map(({ id }) => id));
  const steps = textArray(wanted.map(({ name }) => name));
  const rows = await execute<{ n: string; result: JsonText }>(sql.results_of_steps({ workflow_ids, steps }));
  const found = new Map(rows.map(({ n, result }) => [Number(n) - 1, result]));
  const completed = wanted.map(({ id, step }, index) => ({ id, step, result: found.get(index)! }));
  return groupBy(completed, ({ id }) => id);
}

/** The names of the steps whose results are already in the context. */
function mergedSteps({ state, unmerged, definition }: Omit<RunContext, 'id'>): string[] {
  const late = new Set(unmerged);
  return definition.steps.flatMap(({ name }, n) => (state[n] === STEP.completed && !late.has(n) ? [name] : []));
}
