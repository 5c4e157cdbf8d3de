import { CRON_FIRINGS_KEPT, type CronFiringKind } from '@millrace/contract';
import type { JsonText } from '../../domain/records.js';
import { float8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Effect } from '../shared/idempotency.js';
import type { StoredStart, WorkflowStarter } from '../shared/workflow-starter.js';
import type { Due } from './due.js';

/**
 * Firings that start workflows. What finds the schedules and holds them, creates the workflows, advances the schedules
 * and records the firings is one transaction: whoever is killed within it has fired nothing, and no second process
 * fires what the first one holds.
 */
const sql = loadStatements('crons/firing.sql');

/** In place of the job, in the answer to a trigger that is repeated under its key. */
export const NO_JOB = '00000000-0000-0000-0000-000000000000';

interface TakenRow {
  readonly id: string;
  readonly name: string;
  readonly due_at: string;
  readonly key: string;
  readonly lag_secs: number;
  /** False: this occurrence has its workflow. */
  readonly fresh: boolean;
  readonly skipped: boolean;
  /** Null unless it is to be started. */
  readonly workflow: JsonText | null;
}

interface Taken {
  readonly due: Due;
  readonly row: TakenRow;
  readonly workflowId: string | null;
}

export interface WorkflowFiring {
  readonly kind: CronFiringKind;
  readonly lagSecs: number;
}

interface FiredWorkflows {
  /** The ids of the schedules that this process has advanced. */
  readonly advanced: ReadonlySet<string>;
  readonly firings: readonly WorkflowFiring[];
}

interface FiringOptions {
  /** How long after it was planned a firing may happen. */
  readonly validMs: number;
  /** How long the key of an occurrence is remembered. */
  readonly lifeSecs: number;
}

export class WorkflowFirings {
  constructor(
    private readonly db: Database,
    private readonly workflows: WorkflowStarter,
    private readonly lifeSecs: number,
  ) {}

  async fire(due: readonly Due[], validMs: number): Promise<FiredWorkflows> {
    const options = { validMs, lifeSecs: this.lifeSecs };
    const { taken, committed } = await this.db.transaction((execute) => this.#fire(execute, due, options));
    committed();
    return {
      advanced: new Set(taken.map(({ row }) => row.id)),
      firings: taken.flatMap(({ due: { kind }, row, workflowId }) =>
        workflowId === null ? [] : [{ kind, lagSecs: row.lag_secs }],
      ),
    };
  }

  async #fire(
    execute: Execute,
    due: readonly Due[],
    options: FiringOptions,
  ): Promise<{ taken: readonly Taken[]; committed: () => void }> {
    const rows = await execute<TakenRow>(
      sql.take_starts({
        tenants: textArray(due.map(({ tenant }) => tenant)),
        ids: uuidArray(due.map(({ id }) => id)),
        occurrences_ms: float8Array(due.map(({ occurrenceMs }) => occurrenceMs)),
        revisions: plainArray(due.map(({ revision }) => String(revision))),
        planned_at_ms: Math.min(...due.map(({ decidedMs }) => decidedMs)),
        valid_ms: options.validMs,
      }),
    );
    if (rows.length === 0) return { taken: [], committed: () => undefined };
    const held = new Map(rows.map((row) => [row.id, row]));
    const found = due.flatMap((each) => (held.has(each.id) ? [{ due: each, row: held.get(each.id)! }] : []));
    const { ids, committed } = await this.#start(execute, found);
    const started = ids.values();
    const taken = found.map((each) => ({
      ...each,
      workflowId: each.row.workflow === null ? null : started.next().value!,
    }));
    await execute(sql.record_starts({ ...columnsOf(taken), slots: CRON_FIRINGS_KEPT, life_secs: options.lifeSecs }));
    return { taken, committed };
  }

  async #start(execute: Execute, found: readonly Omit<Taken, 'workflowId'>[]): Promise<Effect> {
    const starts = found.flatMap(({ due: { tenant, id }, row: { name, workflow, due_at: dueAt } }): StoredStart[] =>
      workflow === null ? [] : [{ tenant, text: workflow, origin: originOf(id, name, dueAt) }],
    );
    return starts.length === 0 ? { ids: [], committed: () => undefined } : await this.workflows.start(execute, starts);
  }

  /** By hand, within the caller's transaction. Null: there is no such schedule that starts workflows. */
  async trigger(execute: Execute, tenant: string, id: string): Promise<Effect | null> {
    const [held] = await execute<{ name: string; workflow: JsonText }>(sql.hold_start({ tenant, id }));
    if (!held) return null;
    const start = { tenant, text: held.workflow, origin: originOf(id.toLowerCase(), held.name, null) };
    const { ids, committed } = await this.workflows.start(execute, [start]);
    await execute(sql.record_triggered_start({ tenant, id, workflow_id: ids[0]!, slots: CRON_FIRINGS_KEPT }));
    return { ids: [NO_JOB, ids[0]!], committed };
  }
}

/** As the jobs of schedules have it in their metadata. */
const originOf = (id: string, name: string, dueAt: string | null): StoredStart['origin'] => [
  ['cron_id', JSON.stringify(id)],
  ['cron_name', JSON.stringify(name)],
  ...(dueAt === null ? [] : [['cron_due_at', JSON.stringify(dueAt)] as const]),
];

const columnsOf = (taken: readonly Taken[]) => ({
  tenants: textArray(taken.map(({ due }) => due.tenant)),
  ids: uuidArray(taken.map(({ due }) => due.id)),
  occurrences_ms: float8Array(taken.map(({ due }) => due.occurrenceMs)),
  followings_ms: float8Array(taken.map(({ due }) => due.next)),
  kinds: plainArray(taken.map(({ due, row }) => (row.fresh ? (row.skipped ? 'skipped' : due.kind) : null))),
  workflow_ids: uuidArray(taken.map(({ workflowId }) => workflowId)),
  keys: textArray(taken.map(({ row }) => row.key)),
});
