import type { Database } from '../../store/connection/database.js';
import type { CancelledParent, Parents } from '../durable/parents.js';
import { AfterCommit } from '../outcomes/after-commit.js';
import { Cancellation } from '../outcomes/cancel.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';

/** The sweeps, of which one comes every five seconds, that look which parents have ended: within ten seconds. */
const CLOSE_EVERY = 2;
/** Those that look for ends of children of which older programs told nobody. */
const HEAR_EVERY = 6;

/**
 * What is left to do about parents and children, whichever process left it: parents that nobody has woken, ends that
 * nobody was told of, and the children of parents that were cancelled, which are cancelled too, and theirs. All of it
 * is found in tables, so a crash loses none of it.
 */
export class FamilySweep {
  #runs = 0;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly parents: Parents,
  ) {}

  /** Parts of it skip rounds, so that thousands of waiting parents cost little. Returns how many it cancelled. */
  async run(): Promise<number> {
    const run = this.#runs++;
    if (run % HEAR_EVERY === 0) await this.parents.hearEnds();
    await this.parents.wakeForgotten();
    return run % CLOSE_EVERY === 0 ? this.#cancelOrphans() : 0;
  }

  /** Returns how many children it cancelled. */
  async #cancelOrphans(): Promise<number> {
    let cancelled = 0;
    for (;;) {
      let ofThisRound = 0;
      for (const parent of await this.parents.closeEnded()) ofThisRound += await this.#cancelChildren(parent);
      cancelled += ofThisRound;
      // What was cancelled may have children itself.
      if (ofThisRound === 0) return cancelled;
    }
  }

  /** Resolves when what is under way is done. */
  settled(): Promise<void> {
    return this.parents.settled();
  }

  async #cancelChildren({ id, tenant }: CancelledParent): Promise<number> {
    let cancelled = 0;
    for (;;) {
      const ids = await this.parents.unfinishedOf(id);
      if (ids.length === 0) return cancelled;
      const missed = await this.#cancel(tenant, ids);
      cancelled += ids.length - missed.length;
      if (missed.length < ids.length) continue;
      // They move just now, and the next sweep finds them; or they have ended, and nobody has written that down.
      await this.parents.mend(id);
      return cancelled;
    }
  }

  async #cancel(tenant: string, ids: readonly string[]): Promise<readonly string[]> {
    const afterCommit = new AfterCommit();
    const cancellation = new Cancellation(this.db.run, tenant, afterCommit);
    const missed = await cancellation.running(await cancellation.waiting(ids));
    afterCommit.apply(this.hub, this.counters);
    return missed;
  }
}
