import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { AfterCommit } from './after-commit.js';
import type { CancelledRow } from './settlement.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';

/** Ends jobs that nobody began in time. Claims skip them from the instant on; this only says so. */
const sql = loadStatements('outcomes/expiry.sql');

export const EXPIRED = 'expired before it started';
const BATCH = 1_000;

interface ExpiredRow extends CancelledRow {
  readonly tenant: string;
}

export class Expiry {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {}

  /** Returns how many it ended. */
  async sweep(): Promise<number> {
    let ended = 0;
    for (;;) {
      const rows = await this.db.run<ExpiredRow>(sql.expire_waiting({ max_jobs: BATCH, error: EXPIRED }));
      const afterCommit = new AfterCommit();
      for (const row of rows) afterCommit.cancelledWaiting(row.tenant, row);
      afterCommit.apply(this.hub, this.counters);
      ended += rows.length;
      if (rows.length < BATCH) return ended;
    }
  }
}
