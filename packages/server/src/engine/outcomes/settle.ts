import type { JobConfig } from '@millrace/contract';
import { groupBy } from '../../domain/group-by.js';
import { isStepId } from '../../domain/ids.js';
import { boolArray, int4Array, jsonArray, textArray, uuidArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/database.js';
import { toConfig } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import { judgeFailure } from '../../domain/retry.js';
import { AfterCommit } from './after-commit.js';
import type { Bundle, HeldJob } from '../leases/bundle.js';
import { leaseKeyColumns, type LeaseKey } from '../leases/lease-key.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { endsJob, plainSettlement, runSettle, type Settlement } from './settlement.js';
import type { JsonText, LeasedJob } from '../../domain/records.js';

/**
 * Finishing: the one way out of `running`, single or batched, whoever ran the job.
 *
 * Invariant: a settlement acts only on the lease it names, by id and token, in the statement that acts. Acted on or not is the
 * whole answer; why not is for the caller to look up, since by then the world may have moved on again.
 */
const sql = loadStatements('settle.sql', ['settle_completed', 'settle_bundled']);
const leaseSql = loadStatements('lease.sql', ['lease_facts', 'unbundle']);

/** What this room needs of workflows: the end of a step's job takes its workflow along, in one transaction. */
export interface StepSettling {
  /** True if the lease stood and the job has ended. */
  settle(settlement: Settlement): Promise<boolean>;
}

export interface Completion {
  readonly id: string;
  readonly token: string;
  readonly result: JsonText;
}

/** A completion of a job that stands in a bundle. */
export interface BundledCompletion {
  readonly leased: HeldJob;
  readonly bundle: Bundle;
  readonly result: JsonText;
}

/** A job that may stand in a bundle. A null token: whichever. */
export interface Bundled {
  readonly tenant: string;
  readonly id: string;
  readonly token: string | null;
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

/** What was completed of one tenant: arrays in JSON, of which completions (from 1) and of their seconds. */
interface CompletedRow {
  readonly tenant: string;
  readonly numbers: string;
  readonly run_secs: string;
  readonly watched: number;
}

interface BundleRow {
  readonly n: number;
  readonly taken: string;
  readonly run_secs: number;
  readonly watched: number;
}

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };
/** A statement costs as much as twenty completions: fewer and larger ones carry more in the same time. */
const COMPLETIONS = { ...BATCH, inFlight: 1, weigh: ({ result }: Completion): number => result.length };

export class Settler {
  readonly #completions = new Batcher<Completion, boolean>((items) => this.#complete(items), COMPLETIONS);
  readonly #others = new Batcher<Settlement, boolean>((items) => this.#settle(items), {
    ...BATCH,
    weigh: ({ error }) => error?.length ?? 0,
  });
  readonly #facts = new Batcher<LeaseKey, LeaseFacts | null>((items) => this.#leaseFacts(items), BATCH);

  /** Bundles that lost their last job to one of two statements at once, and may still stand as empty rows. */
  #empty: string[] = [];
  readonly #unbundlings = new Batcher<Bundled, boolean>((items) => this.#unbundle(items), BATCH);

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly steps: StepSettling,
    private readonly random: () => number,
  ) {}

  /** True if the lease stood and the job is now completed. */
  complete({ id, token, result }: Completion): Promise<boolean> {
    if (isStepId(id)) return this.steps.settle({ ...plainSettlement(id, token, 'completed'), result });
    return this.#completions.submit({ id, token, result });
  }

  /** Those that did not stand in their bundle any more. In one statement: the caller sees to it that there are not too many. */
  async completeBundled(completions: readonly BundledCompletion[]): Promise<BundledCompletion[]> {
    const shares = sharesOf(completions);
    const empty = this.#empty;
    this.#empty = [];
    try {
      const rows = await this.db.run<BundleRow>(sql.settle_bundled, bundledValues(shares, empty));
      if (rows[0] && rows[0].watched > 0) this.hub.announceEvents();
      const taken = new Map(rows.map((row) => [row.n, row]));
      return shares.flatMap((share, index) => this.#count(share, taken.get(index + 1)));
    } finally {
      for (const { bundle, last } of shares) {
        bundle.flying--;
        if (!last && bundle.isEmpty && bundle.flying === 0) this.#empty.push(bundle.token);
      }
    }
  }

  /** From now on under a lease of its own, if it stood in a bundle: the way to every end but completion. */
  unbundle(job: Bundled): Promise<boolean> {
    return this.#unbundlings.submit(job);
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

  async #leaseFacts(items: readonly LeaseKey[]): Promise<(LeaseFacts | null)[]> {
    const rows = await this.db.run<{ id: string; retry_count: number; config: string | null }>(
      leaseSql.lease_facts,
      leaseKeyColumns(items),
    );
    const facts = new Map(rows.map((row) => [row.id, { retryCount: row.retry_count, config: toConfig(row.config) }]));
    return items.map((item) => facts.get(item.id) ?? null);
  }

  async #complete(items: readonly Completion[]): Promise<boolean[]> {
    const values = [...leaseKeyColumns(items), jsonArray(items.map((item) => item.result))];
    const rows = await this.db.run<CompletedRow>(sql.settle_completed, values);
    if (rows[0] && rows[0].watched > 0) this.hub.announceEvents();
    const acted = new Array<boolean>(items.length).fill(false);
    for (const { tenant, numbers, run_secs } of rows) {
      for (const n of JSON.parse(numbers) as number[]) acted[n - 1] = true;
      for (const runSecs of JSON.parse(run_secs) as number[])
        this.counters.settled({ outcome: 'completed', tenant, runSecs });
    }
    return acted;
  }

  /** Counts what was completed; the others come back. */
  #count({ bundle, completions }: Share, row: BundleRow | undefined): BundledCompletion[] {
    const missed: BundledCompletion[] = [];
    for (const completion of completions) {
      const { place } = completion.leased;
      if (row?.taken[place - 1] !== '1') {
        missed.push(completion);
        continue;
      }
      bundle.take(place);
      this.counters.settled({ outcome: 'completed', tenant: bundle.tenant, runSecs: row.run_secs });
    }
    return missed;
  }

  async #unbundle(items: readonly Bundled[]): Promise<boolean[]> {
    const rows = await this.db.run<{ id: string }>(leaseSql.unbundle, [
      textArray(items.map((item) => item.tenant)),
      uuidArray(items.map((item) => item.id)),
      uuidArray(items.map((item) => item.token)),
    ]);
    const moved = new Set(rows.map((row) => row.id));
    return items.map((item) => moved.has(item.id));
  }

  async #settle(items: readonly Settlement[]): Promise<boolean[]> {
    const rows = await runSettle(this.db.run, items, false);
    const afterCommit = new AfterCommit();
    for (const row of rows) afterCommit.settled(row);
    afterCommit.apply(this.hub, this.counters);
    const acted = new Set(rows.map((row) => row.n));
    return items.map((_, index) => acted.has(index + 1));
  }
}

export interface LeaseFacts {
  readonly retryCount: number;
  readonly config: JobConfig;
}

/** What one statement does to one bundle, and whether that is the last that will be done to it. */
interface Share {
  readonly bundle: Bundle;
  readonly completions: readonly BundledCompletion[];
  readonly last: boolean;
}

function sharesOf(completions: readonly BundledCompletion[]): Share[] {
  const byBundle = groupBy(completions, (completion) => completion.bundle);
  // In one order for all statements, or two of them could wait for each other.
  const inOrder = [...byBundle].sort(([a], [b]) => (a.token < b.token ? -1 : 1));
  return inOrder.map(([bundle, share]) => {
    bundle.flying++;
    return { bundle, completions: share, last: bundle.endsWith(share.length) };
  });
}

function bundledValues(shares: readonly Share[], empty: readonly string[]): unknown[] {
  const inOrder = shares.flatMap((share) => share.completions);
  const numbers = shares.flatMap((share, index) => share.completions.map(() => index + 1));
  return [
    uuidArray(shares.map(({ bundle }) => bundle.token)),
    textArray(shares.map(({ bundle }) => bundle.tenant)),
    textArray(shares.map(({ bundle, completions }) => maskOf(bundle.size, completions))),
    boolArray(shares.map(({ last }) => last)),
    int4Array(numbers),
    int4Array(inOrder.map(({ leased }) => leased.place)),
    jsonArray(inOrder.map(({ result }) => result)),
    uuidArray(empty),
  ];
}

function maskOf(size: number, completions: readonly BundledCompletion[]): string {
  const mask = Buffer.alloc(size, '0');
  for (const { leased } of completions) mask[leased.place - 1] = ONE;
  return mask.toString('latin1');
}

const ONE = 0x31;
