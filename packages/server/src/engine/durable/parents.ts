import type { JsonText } from '../../domain/records.js';
import { textArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { listIn } from '../../store/rows.js';
import type { Hub } from '../shared/hub.js';
import type { ExpiryBounds } from './checkpoints.js';
import { announceWoken, wakeJob, type WokenRow } from './wake.js';

/**
 * Wakes jobs whose children have ended. The statement that ends the last child says so; this process then ends the wait
 * in a transaction of its own. If it dies in between, the sweep of any process finds the parent.
 *
 * Locks: the parent's lease first, then its row in `parents`. Whoever ends a child holds the latter; so waking, which
 * begins there, never waits for the parent's lease or its place in the queue.
 */
const sql = loadStatements('durable/children.sql');
const retention = loadStatements('durable/retention.sql');

/** Children of a cancelled parent that are cancelled together. */
const SWEEP = 1_000;
/** Parents that one statement of a sweep looks at. */
const WALK = 10_000;
/** Unfinished children that one sweep looks at: those of processes that know nothing of parents. */
const SWEEP_CHILDREN = 5_000;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';
/** A parent that could not be had, because it is being claimed or extended, is tried again so often, then swept. */
const TRIES = 10;
const AGAIN_MS = 20;

interface ParentRow {
  readonly tenant: string;
  readonly awaits: string | null;
  readonly pending: number;
}

const NOBODY: ParentRow = { tenant: '', awaits: null, pending: 0 };

interface WalkedRow {
  readonly next: string | null;
}

interface ForgottenRow extends WalkedRow {
  readonly forgotten: string | null;
}

interface EndedRow extends WalkedRow {
  readonly cancelled: string | null;
}

interface UnheardRow {
  readonly parents: string | null;
  readonly next_parent: string | null;
  readonly next_child: string | null;
}

/** A parent that was cancelled. */
export interface CancelledParent {
  readonly id: string;
  readonly tenant: string;
}

/** What came of waking a parent. */
type Wake = WokenRow | 'nothing to do' | 'not to be had';

/** For retention: removes what parents knew that it has removed. */
export const expireChildren = (bounds: ExpiryBounds): Statement => retention.expire_children(bounds);

/** How these children of a job ended, as its checkpoint. All of them have. */
export async function endsOf(
  execute: Execute,
  id: string,
  names: readonly string[],
  maxBytes: number,
): Promise<JsonText> {
  const values = { id, names: textArray(names), max_bytes: maxBytes };
  const [row] = await execute<{ answer: JsonText | null }>(sql.ends_of_children(values));
  return row?.answer ?? '{"children":[]}';
}

export class Parents {
  readonly #wanted = new Map<string, number>();
  #waking: Promise<void> | null = null;
  #unheardAfter = { after_parent: FIRST_ID, after_child: FIRST_ID };

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    /** Bounds all checkpoints of a job together. */
    private readonly maxBytes: number,
  ) {
    hub.onParents((ids) => this.#want(ids));
  }

  /** Resolves when every parent that was to be woken has been. */
  async settled(): Promise<void> {
    while (this.#waking) await this.#waking;
  }

  /** Wakes whom nobody has woken. */
  async wakeForgotten(): Promise<void> {
    await this.#walk<ForgottenRow>(sql.forgotten_parents, ({ forgotten }) => this.#want(listIn<string>(forgotten)));
    await this.settled();
  }

  /** Forgets parents that have ended. Returns those that were cancelled and may have children left. */
  async closeEnded(): Promise<readonly CancelledParent[]> {
    const cancelled: CancelledParent[] = [];
    await this.#walk<EndedRow>(sql.walk_parents, (row) => {
      for (const [id, tenant] of listIn<[string, string]>(row.cancelled)) cancelled.push({ id, tenant });
    });
    return cancelled;
  }

  /** Page by page over the open parents. */
  async #walk<R extends WalkedRow>(page: typeof sql.walk_parents, found: (row: R) => void): Promise<void> {
    for (let after: string | null = FIRST_ID; after !== null;) {
      const [row]: R[] = await this.db.run<R>(page({ after_id: after, max_rows: WALK }));
      if (row) found(row);
      after = row?.next ?? null;
    }
  }

  /** Children of a cancelled parent that have not ended: some of them. None: there is nothing left to do about it. */
  async unfinishedOf(id: string): Promise<readonly string[]> {
    const rows = await this.db.run<{ id: string }>(sql.children_to_cancel({ id, max_rows: SWEEP }));
    return rows.map((row) => row.id);
  }

  /** Notes the ends of children about which nobody was told: of some of them each time. */
  async hearEnds(): Promise<void> {
    const statement = sql.unheard_ends({ ...this.#unheardAfter, max_rows: SWEEP_CHILDREN });
    const [row] = await this.db.run<UnheardRow>(statement);
    this.#unheardAfter = { after_parent: row?.next_parent ?? FIRST_ID, after_child: row?.next_child ?? FIRST_ID };
    for (const id of listIn<string>(row?.parents)) await this.mend(id);
  }

  /** Writes down how children of a parent ended, where nobody did. */
  async mend(id: string): Promise<void> {
    const complete = await this.db.transaction(async (execute) => {
      await execute(sql.lock_parent({ id }));
      const [row] = await execute<{ complete: boolean }>(sql.mend_ends({ id }));
      return row?.complete ?? false;
    });
    if (complete) this.#want([id]);
  }

  #want(ids: readonly string[]): void {
    for (const id of ids) this.#wanted.set(id, 0);
    if (this.#wanted.size > 0) this.#waking ??= this.#wakeAll().finally(() => (this.#waking = null));
  }

  /** Fails silently: the sweep finds who was missed, and reports what is wrong. */
  async #wakeAll(): Promise<void> {
    for (;;) {
      const [first] = this.#wanted;
      if (first === undefined) return;
      const [id, tries] = first;
      this.#wanted.delete(id);
      const outcome = await this.#wake(id).catch(() => 'nothing to do' as const);
      if (outcome !== 'not to be had' || tries >= TRIES || this.#wanted.has(id)) continue;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      this.#wanted.set(id, tries + 1);
    }
  }

  async #wake(id: string): Promise<Wake> {
    const outcome = await this.db.transaction(async (execute): Promise<Wake> => {
      const [parent] = await execute<ParentRow>(sql.lock_parent({ id }));
      const { tenant, awaits: checkpoint, pending } = parent ?? NOBODY;
      if (checkpoint === null || pending > 0) return 'nothing to do';
      const [wait] = await execute<{ names: string }>(sql.end_of_wait({ tenant, id, checkpoint }));
      if (!wait) return this.#missed(execute, { tenant, id, checkpoint });
      const answer = await endsOf(execute, id, JSON.parse(wait.names) as string[], this.maxBytes);
      const woken = await wakeJob(execute, { tenant, id }, checkpoint, answer);
      await execute(sql.end_waiting({ id }));
      return woken ?? 'nothing to do';
    });
    if (typeof outcome === 'object') announceWoken(this.hub, outcome);
    return outcome;
  }

  /** The wait is over, by its deadline or with the parent; or somebody else has the parent just now. */
  async #missed(
    execute: Execute,
    wait: { readonly tenant: string; readonly id: string; readonly checkpoint: string },
  ): Promise<Wake> {
    const [row] = await execute<{ waits: boolean }>(sql.is_awaiting(wait));
    if (row?.waits) return 'not to be had';
    await execute(sql.end_waiting({ id: wait.id }));
    return 'nothing to do';
  }
}
