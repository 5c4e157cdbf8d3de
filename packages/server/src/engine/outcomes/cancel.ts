import { unavailable } from '../../domain/errors.js';
import type { Execute } from '../../store/connection/database.js';
import { unbundle } from '../leases/unbundle.js';
import type { AfterCommit } from './after-commit.js';
import { cancelWaiting, plainSettlement, runSettle } from './settlement.js';

/**
 * Cancels jobs of one tenant, whichever table they are in: waiting ones are taken out of their queue, running ones lose
 * their lease, and members leave their bundle first. Claims, retries and releases may move a job between two
 * statements, so those that were found nowhere are looked for again.
 */

/** A round misses a job only if it moves between two statements; none keeps that up for this many rounds. */
const ROUNDS = 100;

export interface CancelOptions {
  /** The caller holds the lock of every workflow whose step ends here. Jobs of steps are never in a bundle. */
  readonly workflowsLocked: boolean;
}

export class Cancellation {
  constructor(
    private readonly execute: Execute,
    private readonly tenant: string,
    private readonly afterCommit: AfterCommit,
    private readonly options: CancelOptions = { workflowsLocked: false },
  ) {}

  /**
   * Looks until every job is cancelled, and returns how many that are. `stillLive` tells which of those that were
   * missed are there to be cancelled; where nobody else can end them, all are.
   */
  async all(
    ids: readonly string[],
    stillLive: (missed: readonly string[]) => Promise<readonly string[]> = async (missed) => missed,
  ): Promise<number> {
    let cancelled = 0;
    let left = ids;
    for (let round = 0; left.length > 0; round++) {
      if (round === ROUNDS) throw unavailable('the jobs change too quickly to be cancelled; try again shortly');
      const missed = await this.running(await this.waiting(left));
      cancelled += left.length - missed.length;
      left = missed.length === 0 ? missed : await stillLive(missed);
    }
    return cancelled;
  }

  /** Cancels those that wait, and returns the others. */
  async waiting(ids: readonly string[]): Promise<readonly string[]> {
    const { execute, tenant, afterCommit } = this;
    const rows = await cancelWaiting(execute, tenant, ids, this.options.workflowsLocked);
    for (const row of rows) afterCommit.cancelledWaiting(tenant, row);
    return without(ids, rows);
  }

  /** Cancels those that run, and returns the others. */
  async running(ids: readonly string[]): Promise<readonly string[]> {
    const missed = await this.#leased(ids);
    if (missed.length === 0 || this.options.workflowsLocked) return missed;
    const { tenant } = this;
    const unbundled = await unbundle(
      this.execute,
      missed.map((id) => ({ tenant, id, token: null })),
    );
    const elsewhere = missed.filter((id) => !unbundled.has(id));
    return [...elsewhere, ...(await this.#leased([...unbundled]))];
  }

  async #leased(ids: readonly string[]): Promise<readonly string[]> {
    if (ids.length === 0) return ids;
    const settlements = ids.map((id) => plainSettlement(id, null, 'cancelled'));
    const rows = await runSettle(this.execute, settlements, this.options.workflowsLocked);
    for (const row of rows) this.afterCommit.settled(row);
    return without(ids, rows);
  }
}

function without(ids: readonly string[], rows: readonly { readonly id: string }[]): readonly string[] {
  const gone = new Set(rows.map((row) => row.id));
  return ids.filter((id) => !gone.has(id));
}
