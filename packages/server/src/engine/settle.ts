import type { JobConfig } from '@millrace/contract';
import { isStepId } from '../domain/ids.js';
import { jsonArray, uuidArray } from '../store/arrays.js';
import { Batcher } from '../store/batcher.js';
import type { Database } from '../store/database.js';
import { toConfig } from '../store/rows.js';
import { loadStatements } from '../store/sql.js';
import { judgeFailure } from '../domain/retry.js';
import { Aftermath } from './aftermath.js';
import type { Hub } from './hub.js';
import type { Ledger } from './ledger.js';
import { endsJob, plainSettlement, runSettle, type Settlement } from './settlement.js';
import type { StepSettler } from './step-settler.js';
import type { JsonText, LeasedJob } from './types.js';

/**
 * Finishing: the one way out of `running`, single or batched, whoever ran the job.
 *
 * Invariant: a settlement acts only on the lease it names, by id and token, in the statement that acts. Acted on or not is the
 * whole answer; why not is for the caller to look up, since by then the world may have moved on again.
 */
const sql = loadStatements('settle.sql', ['settle_completed']);
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

interface CompletedRow {
  readonly token: string;
  readonly tenant: string;
  readonly run_secs: number;
  readonly watched: number;
}

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };

export class Settler {
  readonly #completions = new Batcher<Completion, boolean>((items) => this.#complete(items), {
    ...BATCH,
    weigh: ({ result }) => result.length,
  });
  readonly #others = new Batcher<Settlement, boolean>((items) => this.#settle(items), {
    ...BATCH,
    weigh: ({ error }) => error?.length ?? 0,
  });
  readonly #facts = new Batcher<{ id: string; token: string }, LeaseFacts | null>(
    (items) => this.#leaseFacts(items),
    BATCH,
  );

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
    private readonly steps: StepSettler,
    private readonly random: () => number,
  ) {}

  /** True if the lease stood and the job is now completed. */
  complete({ id, token, result }: Completion): Promise<boolean> {
    if (isStepId(id)) return this.steps.settle({ ...plainSettlement(id, token, 'completed'), result });
    return this.#completions.submit({ id, token, result });
  }

  /** The end of a step's job takes its workflow along; everything else ends alone. */
  settle(settlement: Settlement): Promise<boolean> {
    if (isStepId(settlement.id) && endsJob(settlement)) return this.steps.settle(settlement);
    return this.#others.submit(settlement);
  }

  /** Through the failure policy: a retry while budget remains, otherwise the dead letters. */
  fail(failure: Failure): Promise<boolean> {
    const verdict = judgeFailure(failure, failure.config, this.random());
    const { id, token, error, expired = false } = failure;
    const retry = verdict.kind === 'retry';
    return this.settle({
      ...plainSettlement(id, token, retry ? 'retrying' : 'failed'),
      error,
      reason: retry ? null : verdict.reason,
      delaySecs: retry ? verdict.delaySecs : null,
      onlyExpired: expired,
    });
  }

  /** Back to where it was claimed from, with no budget consumed. */
  giveBack({ job, leaseToken }: LeasedJob, outcome: 'released' | 'undelivered'): Promise<boolean> {
    return this.settle(plainSettlement(job.id, leaseToken, outcome));
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
    const rows = await runSettle(this.db.run, items, false);
    const aftermath = new Aftermath();
    for (const row of rows) aftermath.settled(row);
    aftermath.apply(this.hub, this.ledger);
    const acted = new Set(rows.map((row) => row.n));
    return items.map((_, index) => acted.has(index + 1));
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
