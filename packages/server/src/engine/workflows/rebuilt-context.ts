import { enteringBytes, mergeResults, withKeys } from '../../domain/context.js';
import { payloadTooLarge } from '../../domain/errors.js';
import { rawFields } from '../../domain/raw-json.js';
import type { JsonText } from '../../domain/records.js';
import { textArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { mayBeginWithout, type Definition, type WorkflowKey } from './definitions.js';

/**
 * The context of a workflow that is resumed, as if the steps that are reset had never completed: what its first step
 * received, what earlier resumes put over that, the results of the steps that are kept in the order in which they
 * completed, and what this resume puts over all of it. The first two and the last, without results, are stored as a
 * version: that is where a later resume begins.
 */
const sql = loadStatements('workflows/resume.sql');

export interface RebuiltContext {
  readonly text: JsonText;
  /** What has entered it, each result counted once. */
  readonly bytes: number;
  /** The number of this resume. */
  readonly run: number;
  /** Where a later resume begins. */
  readonly startVersion: number;
  /** Its text; null: it is stored already. */
  readonly newStart: JsonText | null;
  /** The last version that is stored then. */
  readonly lastVersion: number;
}

interface LastResume {
  readonly run: number;
  readonly start: number;
  readonly context: JsonText;
}

/** `patch`: null, or what this resume puts over the context. `kept`: steps whose results count, by definition. */
export async function rebuildContext(
  execute: Execute,
  end: WorkflowKey & { readonly version: number | null },
  definition: Definition,
  kept: readonly number[],
  patch: JsonText | null,
  maxBytes: number,
): Promise<RebuiltContext> {
  const [last] = await execute<LastResume>(sql.last_resume({ id: end.id }));
  const before = last?.context ?? (await startOf(execute, end.id, definition));
  const start = patch === null ? before : withKeys(before, patch);
  const results = await resultsOf(execute, end.id, definition, kept);
  const merged = mergeResults(before, results, []);
  const bytes = results.reduce((sum, { result }) => sum + enteringBytes(result), enteringBytes(start));
  if (patch !== null && bytes > maxBytes) throw payloadTooLarge('context', maxBytes);
  const isKnown = last !== undefined && patch === null;
  const startVersion = isKnown ? last.start : (end.version ?? 0) + 1;
  return {
    text: patch === null ? merged : withKeys(merged, patch),
    bytes,
    run: (last?.run ?? 0) + 1,
    startVersion,
    newStart: isKnown ? null : start,
    lastVersion: Math.max(end.version ?? 0, startVersion),
  };
}

/** What the first root step received. Its job is the one that was created with the workflow: nothing was reset yet. */
async function startOf(execute: Execute, id: string, definition: Definition): Promise<JsonText> {
  const { graph, steps } = definition;
  if (mayBeginWithout(definition)) {
    const [first] = await execute<{ context: JsonText }>(sql.first_context({ id }));
    return first!.context;
  }
  const root = graph.findIndex(({ dependsOn }) => dependsOn.length === 0);
  const [row] = await execute<{ payload: JsonText; context: JsonText | null }>(
    sql.start_of_workflow({ id, step: steps[root]!.name }),
  );
  return row!.context ?? rawFields(row!.payload, ['_context'])[0] ?? '{}';
}

async function resultsOf(
  execute: Execute,
  id: string,
  { steps }: Definition,
  kept: readonly number[],
): Promise<{ readonly name: string; readonly result: JsonText }[]> {
  if (kept.length === 0) return [];
  const names = kept.map((step) => steps[step]!.name);
  const rows = await execute<{ n: number; result: JsonText | null }>(
    sql.kept_results({ workflow_id: id, steps: textArray(names) }),
  );
  return rows.map(({ n, result }) => ({ name: names[n - 1]!, result: result ?? '{}' }));
}
