import { toConfig } from '../../store/rows.js';
import type { Database } from '../../store/database.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import type { Counters } from '../shared/counters.js';
import type { Settler } from '../outcomes/settle.js';

/** What the janitor and retention do, one run each. Any number of processes may do it at once. */
const sql = loadStatements('maintenance.sql', [
  'take_turn',
  'forget_streams',
  'forget_bundles',
  'expire_jobs',
  'expire_workflows',
  'expire_dead_letters',
]);
const leaseSql = loadStatements('lease.sql', ['expired']);

const SWEEP_BATCH = 1_000;
const RETENTION_BATCH = 500;
/** Each may bring a thousand jobs along. */
const WORKFLOW_BATCH = 20;

interface ExpiredLease {
  readonly tenant: string;
  readonly id: string;
  readonly token: string;
  readonly bundled: boolean;
  readonly retry_count: number;
  readonly config: string | null;
}

export class Maintenance {
  constructor(
    private readonly db: Database,
    private readonly settler: Settler,
    private readonly counters: Counters,
  ) {}

  /** True if this process is the one to do the work of this period. */
  async takeTurn(loop: string, periodSecs: number): Promise<boolean> {
    return (await this.db.run(sql.take_turn, [loop, periodSecs])).length > 0;
  }

  /** Sends every job whose lease ran out through the failure policy. Returns how many. */
  async reclaimExpired(): Promise<number> {
    const startedAt = performance.now();
    let reclaimed = 0;
    for (;;) {
      const leases = await this.db.runPlanned<ExpiredLease>(leaseSql.expired, [SWEEP_BATCH]);
      const acted = await Promise.all(leases.map((lease) => this.#reclaim(lease)));
      const n = acted.filter(Boolean).length;
      reclaimed += n;
      // A batch of which nothing could be taken was taken by somebody else; asking again at once would only collide again.
      if (leases.length < SWEEP_BATCH || n === 0) break;
    }
    this.counters.metrics.expired(reclaimed);
    this.counters.metrics.swept((performance.now() - startedAt) / 1000);
    return reclaimed;
  }

  /** What streams and bundles leave behind. */
  async forgetTraces(): Promise<void> {
    await this.db.run(sql.forget_streams);
    await this.db.run(sql.forget_bundles);
  }

  /** Removes what ended before the window, and dead letters from before twice the window, in small batches. */
  async removeExpired(
    retentionHours: number,
  ): Promise<{ readonly jobs: number; readonly workflows: number; readonly deadLetters: number }> {
    return {
      workflows: await this.#removeAll(sql.expire_workflows, retentionHours, WORKFLOW_BATCH),
      jobs: await this.#removeAll(sql.expire_jobs, retentionHours, RETENTION_BATCH),
      deadLetters: await this.#removeAll(sql.expire_dead_letters, retentionHours * 2, RETENTION_BATCH),
    };
  }

  async #reclaim(lease: ExpiredLease): Promise<boolean> {
    if (lease.bundled) await this.settler.unbundle(lease);
    return this.settler.fail({
      id: lease.id,
      token: lease.token,
      error: 'lease expired',
      retryable: true,
      retryCount: lease.retry_count,
      config: toConfig(lease.config),
      expired: true,
    });
  }

  async #removeAll(statement: Statement, hours: number, batch: number): Promise<number> {
    for (let total = 0; ;) {
      const [row] = await this.db.run<{ n: number }>(statement, [hours, batch]);
      total += row?.n ?? 0;
      if ((row?.n ?? 0) < batch) return total;
    }
  }
}
