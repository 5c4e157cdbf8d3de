import { EXPIRED } from '@millrace/sdk/rules';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { AfterCommit } from './after-commit.js';
import type { CancelledRow } from './settlement.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';

/** Ends jobs that nobody began in time. Claims skip them from the instant on; this only says so. */
const sql = loadStatements('outcomes/expiry.sql');

const BATCH = 1_000;
/** Then others come first. */
const MAX_BATCHES = 5;

interface ExpiredRow extends CancelledRow {
  readonly tenant: string;
}

export class Expiry {
  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
  ) {}

  /** Ends so many of them. Returns whether there are more. */
  async sweep(): Promise<boolean> {
    for (let batch = 0; batch < MAX_BATCHES; batch++) {
      const rows = await this.db.run<ExpiredRow>(sql.expire_waiting({ max_jobs: BATCH, error: EXPIRED }));
      const afterCommit = new AfterCommit();
      for (const row of rows) afterCommit.cancelledWaiting(row.tenant, row);
      afterCommit.apply(this.hub, this.counters);
      if (rows.length < BATCH) return false;
    }
    return true;
  }
}
