import type { DeadLetterReason, JobConfig } from '@millrace/contract';
import { boolArray, float8Array, jsonArray, plainArray, textArray, uuidArray } from '../store/arrays.js';
import { Batcher } from '../store/batcher.js';
import type { Database, Run } from '../store/database.js';
import { toConfig, toInstant } from '../store/rows.js';
import { loadStatements } from '../store/sql.js';
import { judgeFailure } from '../domain/retry.js';
import type { Hub } from './hub.js';
import type { Ledger } from './ledger.js';
import type { JsonText, LeasedJob } from './types.js';

/**
 * Finishing: the one way out of `running`, single or batched, whoever ran the job.
 *
 * Invariant: a settlement acts only on the lease it names, by id and token, in the statement that acts. Acted on or not is the
 * whole answer; why not is for the caller to look up, since by then the world may have moved on again.
 */
const sql = loadStatements('settle.sql', ['settle', 'settle_completed']);
const leaseSql = loadStatements('lease.sql', ['lease_facts']);

export interface Completion {
  readonly id: string;
  readonly token: string;
  readonly result: JsonText;
}

export interface Failure {
  readonly id: string;
  readonly token: string;
  readonly error: string;
  readonly retryable: boolean;
  readonly retryCount: number;
  readonly config: JobConfig;
  /** The lease ran out: act only if its deadline has really passed. */
  readonly expired?: boolean;
}

export interface Settlement {
  readonly id: string;
  /** null: whatever the token. */
  readonly token: string | null;
  /** `released`: given back unstarted. `undelivered`: the same, and its delivery never counted. */
  readonly outcome: 'failed' | 'retrying' | 'cancelled' | 'released' | 'undelivered';
  readonly error: string | null;
  readonly reason: DeadLetterReason | null;
  readonly delaySecs: number | null;
  readonly onlyExpired: boolean;
}

interface SettledRow {
  readonly id: string;
  readonly token: string;
  readonly tenant: string;
  readonly outcome: Settlement['outcome'];
  readonly reason: DeadLetterReason | null;
  readonly run_secs: number;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly scheduled_at: string | null;
  readonly watched: number;
}

type CompletedRow = Pick<SettledRow, 'token' | 'tenant' | 'run_secs' | 'watched'>;

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };

export class Settler {
  readonly #completions = new Batcher<Completion, boolean>((items) => this.#complete(items), BATCH);
  readonly #others = new Batcher<Settlement, boolean>((items) => this.#settle(items), BATCH);
  readonly #facts = new Batcher<{ id: string; token: string }, LeaseFacts | null>(
    (items) => this.#leaseFacts(items),
    BATCH,
  );

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
    private readonly random: () => number,
  ) {}

  /** True if the lease stood and the job is now completed. */
  complete(completion: Completion): Promise<boolean> {
    return this.#completions.submit(completion);
  }

  settle(settlement: Settlement): Promise<boolean> {
    return this.#others.submit(settlement);
  }

  /** Through the failure policy: a retry while budget remains, otherwise the dead letters. */
  fail(failure: Failure): Promise<boolean> {
    const verdict = judgeFailure(failure, failure.config, this.random());
    const { id, token, error, expired = false } = failure;
    const retry = verdict.kind === 'retry';
    return this.settle({
      id,
      token,
      error,
      outcome: retry ? 'retrying' : 'failed',
      reason: retry ? null : verdict.reason,
      delaySecs: retry ? verdict.delaySecs : null,
      onlyExpired: expired,
    });
  }

  /** Back to where it was claimed from, with no budget consumed. */
  giveBack({ job, leaseToken }: LeasedJob, outcome: 'released' | 'undelivered'): Promise<boolean> {
    return this.settle({
      id: job.id,
      token: leaseToken,
      outcome,
      error: null,
      reason: null,
      delaySecs: null,
      onlyExpired: false,
    });
  }

  /** What the failure policy needs, for a caller that knows only the lease. Null: the lease does not stand. */
  leaseFacts(id: string, token: string): Promise<LeaseFacts | null> {
    return this.#facts.submit({ id, token });
  }

  async #leaseFacts(items: readonly { id: string; token: string }[]): Promise<(LeaseFacts | null)[]> {
    const rows = await this.db.run<{ id: string; retry_count: number; config: string | null }>(
      leaseSql.lease_facts,
      leaseKeys(items),
    );
    const facts = new Map(rows.map((row) => [row.id, { retryCount: row.retry_count, config: toConfig(row.config) }]));
    return items.map((item) => facts.get(item.id) ?? null);
  }

  async #complete(items: readonly Completion[]): Promise<boolean[]> {
    const values = [...leaseKeys(items), jsonArray(items.map((item) => item.result))];
    const rows = await this.db.run<CompletedRow>(sql.settle_completed, values);
    for (const row of rows) this.ledger.settled({ outcome: 'completed', tenant: row.tenant, runSecs: row.run_secs });
    if (rows[0] && rows[0].watched > 0) this.hub.announceEvents();
    const acted = new Set(rows.map((row) => row.token));
    return items.map((item) => acted.has(item.token));
  }

  async #settle(items: readonly Settlement[]): Promise<boolean[]> {
    const rows = await runSettle(this.db.run, items);
    for (const row of rows) this.#note(row);
    if (rows[0] && rows[0].watched > 0) this.hub.announceEvents();
    const acted = new Set(rows.flatMap((row) => [row.token, row.id]));
    return items.map((item) => acted.has(item.token ?? item.id));
  }

  #note(row: SettledRow): void {
    const { tenant, run_secs: runSecs, outcome } = row;
    if (outcome === 'failed') this.ledger.settled({ outcome, tenant, runSecs, reason: row.reason ?? 'non_retryable' });
    else if (outcome === 'retrying' || outcome === 'cancelled') this.ledger.settled({ outcome, tenant, runSecs });
    if (row.queue !== null && row.scheduled_at !== null) {
      this.hub.announceWork(row.queue, row.priority ?? 0, Date.parse(toInstant(row.scheduled_at)));
    }
  }
}

export interface LeaseFacts {
  readonly retryCount: number;
  readonly config: JobConfig;
}

const leaseKeys = (items: readonly { readonly id: string; readonly token: string }[]): unknown[] => [
  uuidArray(items.map((item) => item.id)),
  uuidArray(items.map((item) => item.token)),
];

function runSettle(run: Run, items: readonly Settlement[]): Promise<SettledRow[]> {
  return run<SettledRow>(sql.settle, [
    uuidArray(items.map((item) => item.id)),
    uuidArray(items.map((item) => item.token)),
    textArray(items.map((item) => item.outcome)),
    jsonArray(items.map(() => null)),
    textArray(items.map((item) => item.error)),
    plainArray(items.map((item) => item.reason)),
    float8Array(items.map((item) => item.delaySecs)),
    boolArray(items.map((item) => item.onlyExpired)),
    false,
  ]);
}
