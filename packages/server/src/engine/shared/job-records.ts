import type { JobRecord, JsonText } from '../../domain/records.js';
import { int4Array, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { toJobRecord, type JobRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';

/**
 * Turns job rows into records with complete payloads: if the context of a step is stored separately, it is read here,
 * each version once, however many rows refer to it.
 */
const sql = loadStatements('shared/contexts.sql');

interface ContextRow {
  readonly workflow_id: string;
  readonly version: number;
  readonly context: JsonText;
}

export interface ReadJob<Row extends JobRow> {
  readonly row: Row;
  readonly record: JobRecord;
}

/**
 * A row whose context is gone is left out: since the row was read, retention has removed its workflow, and the job with
 * it.
 */
export async function completeJobs<Row extends JobRow>(
  execute: Execute,
  rows: readonly Row[],
): Promise<ReadJob<Row>[]> {
  const contexts = await readContexts(execute, rows);
  return rows.flatMap((row) => {
    if (row.context === null) return [{ row, record: toJobRecord(row, null) }];
    const context = contexts.get(keyOf(row.workflow_id, row.context));
    return context === undefined ? [] : [{ row, record: toJobRecord(row, context) }];
  });
}

const keyOf = (workflowId: string | null, version: number): string => `${workflowId}/${version}`;

async function readContexts(execute: Execute, rows: readonly JobRow[]): Promise<ReadonlyMap<string, JsonText>> {
  const named = new Map<string, { readonly workflowId: string | null; readonly version: number }>();
  for (const { workflow_id: workflowId, context: version } of rows) {
    if (version !== null) named.set(keyOf(workflowId, version), { workflowId, version });
  }
  if (named.size === 0) return new Map();
  const asked = [...named.values()];
  const found = await execute<ContextRow>(
    sql.contexts_of_steps({
      workflow_ids: uuidArray(asked.map(({ workflowId }) => workflowId)),
      versions: int4Array(asked.map(({ version }) => version)),
    }),
  );
  return new Map(found.map(({ workflow_id: workflowId, version, context }) => [keyOf(workflowId, version), context]));
}
