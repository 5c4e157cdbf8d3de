import { DRY_RUN_SAMPLE, OPERATIONS_ACTIVE, type Count } from '@millrace/contract';
import { forbidden, MillraceError, notFound } from '../../domain/errors.js';
import { bucketOf, idSuffix, isUuid } from '../../domain/ids.js';
import type {
  DryRunRecord,
  OperationItem,
  OperationRecord,
  OperationSpec,
  ReplayScope,
} from '../../domain/operations.js';
import type { JsonText } from '../../domain/records.js';
import { int8Array, textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { toInstant, toInstantOrNull } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { cursorAfter, ID_CURSOR, readCursor } from '../shared/cursor.js';
import type { Idempotency } from '../shared/idempotency.js';
import { random32 } from '../shared/random.js';
import type { Created, CursorQuery, OperationPage, OperationsApi } from '../api.js';
import { bulkWalkOf } from './bulk-walk.js';
import { HELD_SECS, type OperationWork } from './operation-work.js';

/** What tenants do with bulk operations: ask for one, look at it, stop it. The work itself is in operation-work.ts. */
const sql = loadStatements('operations/operations.sql');

/** An outcome is counted again after this many seconds at the earliest, and so many jobs at once. */
const COUNT_EVERY_SECS = 5;
const COUNT_JOBS = 10_000;
/** How many operations of a list have their outcome counted. */
const COUNTED_OF_LIST = 5;

/** Requests that come at the same moment may want the same slot; all but one of them try again. */
const TRIES = 2 * OPERATIONS_ACTIVE;

interface OperationRow extends Omit<OperationRecord, 'matched' | 'outcome'> {
  readonly tenant: string;
  readonly matched: number;
  readonly exact: boolean;
  readonly completed: number;
  readonly failed: number;
  readonly unfinished: number;
}

interface ItemRow {
  readonly id: string;
  readonly queue: string;
  readonly task: string;
  readonly created_at: string;
}

/** What an operation would work on. */
interface Match {
  readonly matched: Count;
  /** The first of them; of an operation by ids, all. */
  readonly ids: readonly string[];
}

export class Operations implements OperationsApi {
  constructor(
    private readonly db: Database,
    private readonly work: OperationWork,
    private readonly keys: Idempotency,
  ) {}

  async create(tenant: string, spec: OperationSpec, key: string | null): Promise<Created> {
    const match = await this.#match(tenant, spec);
    const use = key === null ? null : { tenant, key, kind: 'operation' };
    const { ids, replayed } = await this.keys.once(use, async (execute) => {
      const id = await this.#insert(execute, tenant, spec, match);
      return { ids: [id], committed: () => this.work.started(id) };
    });
    return { id: ids[0]!, replayed };
  }

  async dryRun(tenant: string, spec: OperationSpec): Promise<DryRunRecord> {
    const { matched, ids } = await this.#match(tenant, spec);
    const sample = await this.#items(tenant, spec, ids.slice(0, DRY_RUN_SAMPLE));
    return { matched, sample };
  }

  async get(tenant: string, id: string): Promise<OperationRecord> {
    const row = await this.#own(tenant, id);
    if (row.unfinished === 0) return toRecord(row);
    await this.#countOutcome(id);
    return toRecord(await this.#own(tenant, id));
  }

  async list(tenant: string, { limit, cursor }: CursorQuery): Promise<OperationPage> {
    const after = cursor === null ? null : readCursor(ID_CURSOR, cursor).at;
    const read = (): Promise<OperationRow[]> =>
      this.db.read<OperationRow>({ tenant, statement: sql.operations({ tenant, after, max_operations: limit + 1 }) });
    let rows = await read();
    const unfinished = rows.filter((row) => row.unfinished > 0).slice(0, COUNTED_OF_LIST);
    for (const { id } of unfinished) await this.#countOutcome(id);
    if (unfinished.length > 0) rows = await read();
    const operations = rows.slice(0, limit).map(toRecord);
    const last = operations.at(-1);
    return { operations, nextCursor: rows.length > limit && last ? cursorAfter(ID_CURSOR, last.id) : null };
  }

  async stop(tenant: string, id: string): Promise<void> {
    await this.#own(tenant, id);
    const [stopped] = await this.db.run(sql.stop_operation({ id }));
    if (stopped) return;
    const { status } = await this.#own(tenant, id);
    throw new MillraceError('already_finished', `the operation is already ${status}`);
  }

  async #own(tenant: string, id: string): Promise<OperationRow> {
    const [row] = isUuid(id) ? await this.db.run<OperationRow>(sql.operation({ id })) : [];
    if (!row) throw notFound('operation');
    if (row.tenant !== tenant) throw forbidden('this operation belongs to another tenant');
    return row;
  }

  async #countOutcome(id: string): Promise<void> {
    await this.db.run(sql.count_outcome({ id, every_secs: COUNT_EVERY_SECS, max_jobs: COUNT_JOBS }));
  }

  async #insert(execute: Execute, tenant: string, spec: OperationSpec, { matched, ids }: Match): Promise<string> {
    const suffix = idSuffix(0, bucketOf(tenant), random32());
    const statement = sql.create_operation({
      tenant,
      suffix,
      action: spec.action,
      filter: spec.ids === null ? spec.filter : null,
      scope: scopeOf(spec),
      keeps: spec.kept !== null,
      ids: spec.ids === null ? null : textArray(ids),
      before: spec.ids === null ? spec.scope.createdBefore : null,
      matched: matched.n,
      exact: matched.exact,
      holder: this.work.holder,
      held_secs: HELD_SECS,
      max_running: OPERATIONS_ACTIVE,
    });
    for (let tries = 0; tries < TRIES; tries++) {
      const [created] = await execute<{ id: string }>(statement);
      if (created) return created.id;
    }
    throw new MillraceError('conflict', `${OPERATIONS_ACTIVE} operations are running; wait for one to end, or stop it`);
  }

  async #match(tenant: string, spec: OperationSpec): Promise<Match> {
    if (spec.ids !== null) {
      const ids = (await this.#items(tenant, spec, [...new Set(spec.ids)])).map(({ id }) => id);
      return { matched: { n: ids.length, exact: true }, ids };
    }
    const { first, n, isAll } = await bulkWalkOf(this.db, tenant, spec.action, spec.scope).count(DRY_RUN_SAMPLE);
    return { matched: { n, exact: isAll }, ids: first };
  }

  async #workflows(tenant: string, ids: readonly string[]): Promise<OperationItem[]> {
    const rows = await this.db.run<Pick<ItemRow, 'id' | 'created_at'> & { readonly name: string }>(
      sql.own_workflows({ tenant, ids: uuidArray(ids) }),
    );
    return rows.map(({ id, name, created_at }) => ({ id, name, created_at: toInstant(created_at) }));
  }

  /** Those of the ids that are the tenant's. */
  async #items(tenant: string, { action }: OperationSpec, ids: readonly string[]): Promise<OperationItem[]> {
    if (action === 'resume_workflows') return this.#workflows(tenant, ids);
    const statement =
      action === 'replay_dead_letters'
        ? sql.own_dead_letters({ tenant, ids: int8Array(ids.map(Number)) })
        : sql.own_jobs({ tenant, ids: uuidArray(ids) });
    const rows = await this.db.run<ItemRow>(statement);
    return rows.map(({ id, queue, task, created_at }) => ({
      id,
      task_name: task,
      queue_name: queue,
      created_at: toInstant(created_at),
    }));
  }
}

/** What a batch needs to know: the filter as it was understood, and what replays keep. */
function scopeOf(spec: OperationSpec): JsonText | null {
  const replay: ReplayScope = spec.kept === null ? {} : { keptCheckpoints: spec.kept };
  if (spec.ids === null) return JSON.stringify({ ...spec.scope, ...replay });
  return spec.kept === null ? null : JSON.stringify(replay);
}

const toRecord = (row: OperationRow): OperationRecord => ({
  id: row.id,
  action: row.action,
  filter: row.filter,
  status: row.status,
  matched: { n: row.matched, exact: row.exact },
  done: row.done,
  changed: row.changed,
  skipped: row.skipped,
  outcome: { completed: row.completed, failed: row.failed, unfinished: row.unfinished },
  created_at: toInstant(row.created_at),
  completed_at: toInstantOrNull(row.completed_at),
});
