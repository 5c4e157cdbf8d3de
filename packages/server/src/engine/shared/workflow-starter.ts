import type { JsonText } from '../../domain/records.js';
import type { WorkflowSpec } from '../../domain/workflow-records.js';
import type { Execute } from '../../store/connection/database.js';
import type { Effect } from './idempotency.js';

/** What schedules need to know of workflows; engine/workflows knows it. */
export interface WorkflowStarter {
  /**
   * The workflow as it is stored until it is started.
   *
   * @throws MillraceError if it is not one; `path` is put before the names of fields
   */
  textOf(spec: WorkflowSpec, path: string): JsonText;
  /** In a transaction of the caller. The ids are in the order of the starts. */
  start(execute: Execute, starts: readonly StoredStart[]): Promise<Effect>;
}

export interface StoredStart {
  readonly tenant: string;
  readonly text: JsonText;
  /** Members that its metadata gets: who started it, and when. */
  readonly origin: readonly (readonly [key: string, text: JsonText])[];
}
