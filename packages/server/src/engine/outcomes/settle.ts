import { SERIES_OTHER, type JobConfig } from '@millrace/contract';
import { asRefusal, type MillraceError } from '../../domain/errors.js';
import { isLimitedId, isStepId } from '../../domain/ids.js';
import { jsonArray } from '../../store/arrays.js';
import { Batcher } from '../../store/batcher.js';
import type { Database } from '../../store/connection/database.js';
import { listIn } from '../../store/rows.js';
import { loadStatements, type Statement } from '../../store/sql.js';
import { judgeFailure, type FailureVerdict } from '../../domain/retry.js';
import { announceAdmitted, type AdmittedJobs } from '../shared/admitted-jobs.js';
import { AfterCommit, COMPLETED } from './after-commit.js';
import { readLeaseFacts, type LeaseFacts } from '../leases/lease-facts.js';
import { leaseKeyColumns, type LeaseKey } from '../leases/lease-key.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import type { Origin } from '../shared/series-recorder.js';
import { endsJob, plainSettlement, runSettle, type AttemptFailure, type Settlement } from './settlement.js';
import type { JsonText, LeasedJob } from '../../domain/records.js';

/**
 * Settling: the only way out of `running`, single or batched, for the pool and for remote workers alike. Members of
 * bundles complete in `bundles.ts`, and leave their bundle for every other outcome.
 *
 * Invariant: a settlement acts only on the lease it names, by id and token, and the statement that acts checks that.
 * The answer only says whether it acted; if not, the caller looks up why, since by then the state may have changed
 * again.
 */
const sql = loadStatements('outcomes/settle.sql');

/** What settling needs from workflows: ending a step's job also advances its workflow, in one transaction. */
export interface StepSettling {
  /** True if the lease was held and the job has ended. */
  settle(settlement: Settlement): Promise<boolean>;
}

export interface Completion {
  readonly id: string;
  readonly token: string;
  readonly result: JsonText;
  /** Queue and task, where the caller knows them; the lease of a remote worker does. */
  readonly queue?: string;
  readonly task?: string;
}

export interface Failure {
  readonly id: string;
  readonly token: string;
  readonly error: string;
  readonly retryable: boolean;
  readonly retryCount: number;
  readonly config: JobConfig;
  /** Instead of the computed delay. */
  readonly retryAfterSecs?: number | null;
  readonly details?: JsonText | null;
  /** How it failed. `lease_expired`: act only if the deadline has really passed. */
  readonly how?: AttemptFailure;
}

/**
 * Completed jobs of one tenant, worker, queue and task, as arrays in JSON: the numbers of their completions (from 1)
 * and their run times.
 */
interface CompletedRow {
  readonly tenant: string;
  readonly worker: string | null;
  readonly queue: string | null;
  readonly task: string | null;
  readonly numbers: string;
  readonly run_secs: string;
  readonly watched: number;
  /** In JSON: limits where somebody may be let in now. */
  readonly looks?: string | null;
  /** In JSON: limits whose line has run out. */
  readonly ran_out?: string | null;
  /** In JSON: jobs that took over the room of these. */
  readonly admitted?: string | null;
  /** In JSON: parents that have nothing to wait for any more. */
  readonly parents?: string | null;
}

const BATCH = { maxItems: 1000, inFlight: 2, maxWaiting: 100_000 };
/** A statement costs as much as twenty completions, so fewer and larger ones complete more jobs in the same time. */
const COMPLETIONS = { ...BATCH, inFlight: 1, weigh: ({ result }: Completion): number => result.length };

export class Settler {
  readonly #completions = new Batcher<Completion, boolean>(
    (items) => this.#complete(items, sql.settle_completed(completionColumns(items))),
    COMPLETIONS,
  );
  readonly #limitedCompletions = new Batcher<Completion, boolean>(
    (items) => this.#complete(items, sql.settle_completed_limited(completionColumns(items))),
    COMPLETIONS,
  );
  readonly #others = new Batcher<Settlement, boolean>((items) => this.#settle(items), {
    ...BATCH,
    weigh: ({ result, error, details }) => (result?.length ?? 0) + (error?.length ?? 0) + (details?.length ?? 0),
  });
  readonly #facts = new Batcher<LeaseKey, LeaseFacts | null>((items) => readLeaseFacts(this.db.run, items), BATCH);

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly steps: StepSettling,
    private readonly random: () => number,
  ) {}

  /** True if the lease was held and the job is now completed. */
  complete(completion: Completion): Promise<boolean> {
    const { id, token, result } = completion;
    if (isStepId(id)) return this.steps.settle({ ...plainSettlement(id, token, 'completed'), result });
    if (isLimitedId(id)) return this.#limitedCompletions.submit(completion);
    return this.#completions.submit(completion);
  }

  /** The same for many jobs, refusals included. */
  completeAll(completions: readonly Completion[]): Promise<(boolean | MillraceError)[]> {
    if (!completions.some(({ id }) => isStepId(id) || isLimitedId(id))) return this.#completions.submitAll(completions);
    if (completions.every(({ id }) => isLimitedId(id) && !isStepId(id)))
      return this.#limitedCompletions.submitAll(completions);
    return Promise.all(completions.map((completion) => this.complete(completion).catch(asRefusal)));
  }

  /** Ending a step's job also advances its workflow; every other settlement concerns only the job. */
  settle(settlement: Settlement): Promise<boolean> {
    if (isStepId(settlement.id) && endsJob(settlement)) return this.steps.settle(settlement);
    return this.#others.submit(settlement);
  }

  /** Applies the failure policy: a retry while budget remains, otherwise a dead letter. */
  fail(failure: Failure, verdict: FailureVerdict = this.judge(failure)): Promise<boolean> {
    const { id, token, error, details = null, how = 'failed' } = failure;
    const retry = verdict.kind === 'retry';
    return this.settle({
      ...plainSettlement(id, token, retry ? 'retrying' : 'failed'),
      error,
      reason: retry ? null : verdict.reason,
      delaySecs: retry ? verdict.delaySecs : null,
      onlyExpired: how === 'lease_expired',
      failure: how,
      details,
    });
  }

  /** What the failure policy makes of it, for a caller that wants to know. */
  judge(failure: Failure): FailureVerdict {
    return judgeFailure(failure, failure.config, this.random());
  }

  /** Back to its queue at the wish of its worker: at once, or so many seconds from now. */
  release(id: string, token: string, delaySecs: number | null): Promise<boolean> {
    return this.settle({ ...plainSettlement(id, token, 'released'), delaySecs });
  }

  /** Puts a job back to where it was claimed from, without consuming its retry budget. */
  giveBack({ job, leaseToken }: LeasedJob, outcome: 'released' | 'undelivered'): Promise<boolean> {
    return this.settle(plainSettlement(job.id, leaseToken, outcome));
  }

  /** What the failure policy needs, for a caller that knows only the lease. Null: the lease is not held. */
  leaseFacts(id: string, token: string): Promise<LeaseFacts | null> {
    return this.#facts.submit({ id, token });
  }

  async #complete(items: readonly Completion[], statement: Statement): Promise<boolean[]> {
    const rows = await this.db.run<CompletedRow>(statement);
    for (const { looks, ran_out: ranOut, admitted, parents } of rows) {
      this.hub.announceLimits({ limits: listIn<string>(looks), soon: listIn<string>(ranOut), slept: false });
      announceAdmitted(this.hub, this.counters.metrics, listIn<AdmittedJobs>(admitted));
      this.hub.announceParents(listIn<string>(parents));
    }
    if (rows[0] && rows[0].watched > 0) this.hub.announceEvents();
    const acted = new Array<boolean>(items.length).fill(false);
    for (const row of rows) {
      if (this.hub.hearsSettled) this.#announceCompleted(items, row.tenant, row.numbers, row.run_secs);
      this.#noteCompleted(items, row, acted);
    }
    if (this.hub.hearsEnds) this.#announceEnds(items, rows);
    return acted;
  }

  /** The leases of remote workers know queue and task; for others the completion says them. */
  #noteCompleted(items: readonly Completion[], row: CompletedRow, acted: boolean[]): void {
    const { tenant, worker } = row;
    const numbers = JSON.parse(row.numbers) as number[];
    const runSecs = JSON.parse(row.run_secs) as number[];
    const known = row.queue !== null && row.task !== null ? { tenant, queue: row.queue, task: row.task } : null;
    for (let k = 0; k < numbers.length; k++) {
      const n = numbers[k]! - 1;
      acted[n] = true;
      const origin = known ?? originOf(tenant, items[n]!);
      this.counters.settled({ outcome: 'completed', origin, runSecs: runSecs[k]! });
      if (!known) this.counters.workers.reported(tenant, worker, origin.queue, 1, 0);
    }
    if (known) this.counters.workers.reported(tenant, worker, known.queue, numbers.length, 0);
  }

  #announceEnds(items: readonly Completion[], rows: readonly CompletedRow[]): void {
    const queues = rows.flatMap(({ queue, numbers }) =>
      queue !== null ? [queue] : (JSON.parse(numbers) as number[]).flatMap((n) => items[n - 1]!.queue ?? []),
    );
    for (const queue of new Set(queues)) this.hub.announceEnd(queue);
  }

  #announceCompleted(items: readonly Completion[], tenant: string, numbers: string, runSecs: string): void {
    const secs = JSON.parse(runSecs) as number[];
    (JSON.parse(numbers) as number[]).forEach((n, k) => {
      const { id } = items[n - 1]!;
      this.hub.announceSettled({ ...COMPLETED, id, tenant, task: null, queue: null, runSecs: secs[k] ?? null });
    });
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

const completionColumns = (items: readonly Completion[]) => {
  const results = jsonArray(items.map((item) => item.result));
  return { results, ...leaseKeyColumns(items) };
};

const originOf = (tenant: string, { queue = SERIES_OTHER, task = SERIES_OTHER }: Completion): Origin => ({
  tenant,
  queue,
  task,
});
