import { toConfig } from '../../store/rows.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { Counters } from '../shared/counters.js';
import type { Idempotency } from '../shared/idempotency.js';
import type { Waits } from '../durable/waits.js';
import { forgetEnds } from './ends.js';
import { RetentionPass } from './retention-pass.js';
import { LEASE_EXPIRED } from '../leases/claim-mark.js';
import type { BundleSettler } from '../outcomes/bundles.js';
import type { Settler } from '../outcomes/settle.js';
import { plainSettlement } from '../outcomes/settlement.js';

/** What the janitor and retention do, one run each. Any number of processes may do it at once. */
const sql = loadStatements('jobs/maintenance.sql');

const SWEEP_BATCH = 1_000;
/** Queues of which is remembered when somebody last asked for their jobs. */
const MAX_QUEUES_KEPT = 10_000;

interface ExpiredLease {
  readonly tenant: string;
  readonly id: string;
  readonly token: string;
  readonly bundled: boolean;
  readonly retry_count: number;
  readonly config: string | null;
  readonly started: boolean;
}

interface Signs {
  readonly expired: boolean;
  readonly parents: boolean;
  readonly waits: boolean;
}

/**
 * What came of a sweep: how many jobs it reclaimed, whether any parent has children to look after, and whether any step
 * waits for a signal.
 */
export interface Swept {
  readonly reclaimed: number;
  readonly parents: boolean;
  readonly waits: boolean;
}

export class Maintenance {
  constructor(
    private readonly db: Database,
    private readonly settler: Settler,
    private readonly bundles: BundleSettler,
    private readonly counters: Counters,
    private readonly keys: Idempotency,
    private readonly waits: Waits,
  ) {}

  /** True if this process is the one to do the work of this period. */
  async takeTurn(loop: string, periodSecs: number): Promise<boolean> {
    return (await this.db.run(sql.take_turn({ loop, period_secs: periodSecs }))).length > 0;
  }

  /**
   * No other process takes this turn until its period has passed again, counted from `fromNowSecs` seconds from now.
   */
  async keepTurn(loop: string, fromNowSecs = 0): Promise<void> {
    await this.db.run(sql.keep_turn({ loop, from_now_secs: fromNowSecs }));
  }

  /** Looks whether there is anything to reclaim, and reclaims it. */
  async sweep(): Promise<Swept> {
    const startedAt = performance.now();
    const [signs] = await this.db.runPlanned<Signs>(sql.signs());
    const reclaimed = signs?.expired ? await this.reclaimExpired() : 0;
    this.counters.metrics.swept((performance.now() - startedAt) / 1000);
    return { reclaimed, parents: signs?.parents ?? false, waits: signs?.waits ?? false };
  }

  /**
   * Sends every job whose lease expired through the failure policy, and those that were demonstrably not started back
   * to where they came from. Returns how many.
   */
  async reclaimExpired(): Promise<number> {
    let reclaimed = 0;
    for (;;) {
      const leases = await this.db.runPlanned<ExpiredLease>(sql.expired({ max_leases: SWEEP_BATCH }));
      const acted = await Promise.all(leases.map((lease) => this.#reclaim(lease)));
      const n = acted.filter(Boolean).length;
      reclaimed += n;
      // If none of a batch could be reclaimed, another process reclaimed it: asking again at once would only collide.
      if (leases.length < SWEEP_BATCH || n === 0) break;
    }
    this.counters.metrics.expired(reclaimed);
    return reclaimed;
  }

  /** Removes what streams, bundles, processes, workers, keyed requests and waits leave behind. */
  async forgetTraces(): Promise<void> {
    await this.db.run(sql.forget_streams());
    await forgetEnds(this.db);
    await this.db.run(sql.forget_bundles());
    await this.db.run(sql.forget_claim_marks());
    await this.keys.forget();
    await this.waits.forget();
    await this.db.run(sql.forget_presence({ max_queues: MAX_QUEUES_KEPT }));
    while ((await this.db.run(sql.forget_progress({ max_rows: SWEEP_BATCH }))).length === SWEEP_BATCH);
  }

  /** A pass that removes what ended before the window, one step at a time. */
  beginRetentionPass(retentionHours: number): RetentionPass {
    return new RetentionPass(this.db, retentionHours);
  }

  /** How late retention is, for the metrics. */
  noteRetentionLag(seconds: number): void {
    this.counters.metrics.retentionLag(seconds);
  }

  async #reclaim(lease: ExpiredLease): Promise<boolean> {
    if (lease.bundled) await this.bundles.unbundle(lease);
    if (!lease.started)
      return this.settler.settle({ ...plainSettlement(lease.id, lease.token, 'undelivered'), onlyExpired: true });
    return this.settler.fail({
      id: lease.id,
      token: lease.token,
      error: LEASE_EXPIRED,
      retryable: true,
      retryCount: lease.retry_count,
      config: toConfig(lease.config),
      how: 'lease_expired',
    });
  }
}
