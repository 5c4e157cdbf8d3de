import type { ChildSpec, JobSpec } from '../../domain/records.js';
import { boolArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { LeaseKey } from '../leases/lease-key.js';
import type { Effect } from '../shared/idempotency.js';

/**
 * Jobs that a running job creates, once per parent and name: a repeat finds those of the first time. Calls for one
 * parent take turns at its row, and its lease is held until they commit.
 */
const sql = loadStatements('durable/children.sql');

interface ChildRow {
  readonly name: string;
  readonly child_id: string;
}

/** Creates jobs that have a parent, in a transaction of the caller; engine/jobs knows how. */
export type CreateMarked = (execute: Execute, tenant: string, specs: readonly JobSpec[]) => Promise<Effect>;

export class Children {
  constructor(
    private readonly db: Database,
    private readonly createMarked: CreateMarked,
  ) {}

  /** The ids in the order of `children`, whose names differ. Null: the lease is not held. */
  async create(lease: LeaseKey, children: readonly ChildSpec[]): Promise<readonly string[] | null> {
    const made = await this.db.transaction((execute) => this.#create(execute, lease, children));
    made?.committed();
    return made?.ids ?? null;
  }

  async #create(execute: Execute, { id, token }: LeaseKey, children: readonly ChildSpec[]): Promise<Effect | null> {
    const [held] = await execute<{ tenant: string }>(sql.hold_lease({ id, token }));
    if (!held) return null;
    const { tenant } = held;
    await execute(sql.begin_parent({ id, tenant }));
    const names = textArray(children.map(({ name }) => name));
    const known = await execute<ChildRow>(sql.children_by_name({ id, names }));
    const idOf = new Map(known.map(({ name, child_id: child }) => [name, child]));
    const fresh = children.filter(({ name }) => !idOf.has(name));
    const committed = fresh.length === 0 ? () => undefined : await this.#add(execute, { id, tenant }, fresh, idOf);
    return { ids: children.map(({ name }) => idOf.get(name)!), committed };
  }

  /** Returns what to do after the commit, and adds their ids to `idOf`. */
  async #add(
    execute: Execute,
    { id, tenant }: { readonly id: string; readonly tenant: string },
    fresh: readonly ChildSpec[],
    idOf: Map<string, string>,
  ): Promise<Effect['committed']> {
    const { ids, committed } = await this.createMarked(
      execute,
      tenant,
      fresh.map(({ spec }) => spec),
    );
    await execute(
      sql.add_children({
        id,
        tenant,
        child_ids: uuidArray(ids),
        names: textArray(fresh.map(({ name }) => name)),
        detached: boolArray(fresh.map(({ detached }) => detached)),
      }),
    );
    fresh.forEach(({ name }, n) => idOf.set(name, ids[n]!));
    return committed;
  }
}
