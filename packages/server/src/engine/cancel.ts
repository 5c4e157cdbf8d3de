import { MillraceError } from '../domain/errors.js';
import { isTerminal } from '../domain/job-state.js';
import type { Database } from '../store/database.js';
import { loadStatements } from '../store/sql.js';
import type { Hub } from './hub.js';
import type { Ledger } from './ledger.js';
import type { Reads } from './reads.js';
import type { Settler } from './settle.js';

const sql = loadStatements('settle.sql', ['cancel_waiting']);

/**
 * Cancelling takes a job out of whichever table it stands in. Between looking and acting it may move (claimed, retried, finished), so
 * it looks again until it has acted or there is nothing left to cancel. Each round the job made a transition of its own, and its budget
 * of those is finite.
 */
export class Canceller {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
    private readonly reads: Reads,
    private readonly settler: Settler,
  ) {}

  async cancel(tenant: string, id: string): Promise<void> {
    for (;;) {
      const job = await this.reads.job(tenant, id);
      if (isTerminal(job.status)) throw new MillraceError('already_finished', `the job is ${job.status} already`);
      const acted = job.status === 'running' ? await this.#running(job.id) : await this.#waiting(tenant, job.id);
      if (acted) return;
    }
  }

  #running(id: string): Promise<boolean> {
    return this.settler.settle({
      id,
      token: null,
      outcome: 'cancelled',
      error: null,
      reason: null,
      delaySecs: null,
      onlyExpired: false,
    });
  }

  async #waiting(tenant: string, id: string): Promise<boolean> {
    const [gone] = await this.db.run<{ watched: number }>(sql.cancel_waiting, [tenant, id]);
    if (!gone) return false;
    this.ledger.cancelled(tenant);
    if (gone.watched > 0) this.hub.announceEvents();
    return true;
  }
}
