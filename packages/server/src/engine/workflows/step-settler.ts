import { advance, cancelRun, STEP, type Advance, type StepOutcome } from '../../domain/dag.js';
import { Batcher } from '../../store/batcher.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { AfterCommit } from '../outcomes/after-commit.js';
import { Cancellation } from '../outcomes/cancel.js';
import { judgeContexts } from './context-limit.js';
import type { Definitions, WorkflowKey } from './definitions.js';
import type { Hub } from '../shared/hub.js';
import type { Counters } from '../shared/counters.js';
import { jobsOfSteps, writeRuns, type Change, type LockedRun } from './run-writer.js';
import { changesOf, type Move } from './turns.js';
import { groupBy } from '../../domain/group-by.js';
import { leaseKeyColumns } from '../leases/lease-key.js';
import type { StepSettling } from '../outcomes/settle.js';
import { runSettle, type Settlement } from '../outcomes/settlement.js';

/**
 * The end of a step's job, and what follows from it, in one transaction: lock the workflows, settle the jobs, advance
 * each workflow by the rules of domain/dag.ts, enqueue what became ready. A process that dies in the middle leaves
 * nothing behind, so a workflow never depends on the survival of the process that saw a completion.
 *
 * Everything that ends a step's job takes its workflow's lock first. That is why a join sees all its parents, and only
 * once.
 */
const sql = loadStatements('workflows/runs.sql');

type RunRow = Omit<LockedRun, 'definition'>;

/** A run and those of its jobs that are about to end, each with the name of its step. */
interface LeasesRow extends RunRow {
  readonly job_ids: readonly string[];
  readonly steps: readonly string[];
}

interface StepOfRun {
  readonly locked: LockedRun;
  readonly step: number;
}

/** The job of a step. */
export interface StepJob {
  readonly id: string;
  readonly workflowId: string;
  /** Of the step. */
  readonly name: string;
}

const weigh = ({ result, error, details }: Settlement): number =>
  (result?.length ?? 0) + (error?.length ?? 0) + (details?.length ?? 0);
const BATCH = { maxItems: 500, inFlight: 2, maxWaiting: 100_000, weigh };

export class StepSettler implements StepSettling {
  readonly #batch = new Batcher<Settlement, boolean>(
    (items) => this.#transaction((execute, afterCommit) => this.#settle(execute, items, afterCommit)),
    BATCH,
  );

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly definitions: Definitions,
    private readonly defaultQueue: string,
    private readonly maxContextBytes: number,
  ) {}

  /** True if the lease was held and the job has ended. */
  settle(settlement: Settlement): Promise<boolean> {
    return this.#batch.submit(settlement);
  }

  /** Cancels the job of one step. False: it has already ended. */
  cancelStep(workflow: WorkflowKey, name: string, jobId: string): Promise<boolean> {
    return this.#transaction(async (execute, afterCommit) => {
      const job = { id: jobId, workflowId: workflow.id, name };
      return (await this.cancelSteps(execute, workflow.tenant, [job], afterCommit)) === 1;
    });
  }

  /**
   * The same for several, in a transaction of the caller. Returns how many were cancelled. Workflows are locked in
   * order of id, as everywhere.
   */
  async cancelSteps(
    execute: Execute,
    tenant: string,
    jobs: readonly StepJob[],
    afterCommit: AfterCommit,
  ): Promise<number> {
    let cancelled = 0;
    for (const [id, ofRun] of [...groupBy(jobs, (job) => job.workflowId)].sort(([one], [two]) =>
      one < two ? -1 : 1,
    )) {
      const locked = await this.#lock(execute, { tenant, id });
      if (!locked) continue;
      const ending = (await currentJobs(execute, locked, ofRun))
        .map((job) => ({ id: job.id, step: stepOf(locked, job.name), outcome: 'cancelled' as const }))
        .filter(({ step }) => locked.state[step] === STEP.enqueued);
      if (ending.length === 0) continue;
      const cancellation = new Cancellation(execute, tenant, afterCommit, { workflowsLocked: true });
      await cancellation.all(ending.map((job) => job.id));
      await this.#follow(execute, await changesOf(execute, [moveOf(locked, ending, [])]), afterCommit);
      cancelled += ending.length;
    }
    return cancelled;
  }

  /** False: it has already ended. */
  cancelWorkflow(workflow: WorkflowKey): Promise<boolean> {
    return this.#transaction(async (execute, afterCommit) => {
      const locked = await this.#lock(execute, workflow);
      if (!locked) return false;
      await this.#follow(execute, [unmergedChange(locked, cancelRun(locked.state))], afterCommit);
      return true;
    });
  }

  async #settle(execute: Execute, items: readonly Settlement[], afterCommit: AfterCommit): Promise<boolean[]> {
    const held = await this.#lockRunsOf(execute, items);
    const { reports, bytesOf } = judgeContexts(items, ({ id }) => held.get(id)?.locked, this.maxContextBytes);
    const standing = reports.filter((report) => held.has(report.id));
    const settled = await runSettle(execute, standing, true);
    // In the order of the reports: of two results that were reported together, the later one's keys win.
    settled.sort((a, b) => a.n - b.n);
    for (const row of settled) afterCommit.settled(row);
    // The end of one job can be reported twice at once. The context takes the result that the job took.
    const acted = settled.map((row) => standing[row.n - 1]!);
    const byRun = groupBy(acted, (report) => held.get(report.id)!.locked);
    const moves = [...byRun].map(([locked, ends]) => {
      const ended = ends.map((report) => endOf(report, held.get(report.id)!.step, bytesOf(report)));
      return moveOf(
        locked,
        ended,
        ended.filter(({ outcome }) => outcome === 'completed'),
      );
    });
    await this.#follow(execute, await changesOf(execute, moves), afterCommit);
    const done = new Set(acted);
    return reports.map((report) => done.has(report));
  }

  async #follow(execute: Execute, changes: readonly Change[], afterCommit: AfterCommit): Promise<void> {
    if (changes.length === 0) return;
    for (const { locked, advance } of changes) {
      afterCommit.workflowMoved(locked.id);
      const jobs = await jobsOfSteps(execute, locked, advance.cancel);
      await new Cancellation(execute, locked.tenant, afterCommit, { workflowsLocked: true }).all(jobs);
      if (advance.end === null) continue;
      afterCommit.workflowEnded(locked.tenant, advance.end);
      this.definitions.forget(locked.id);
    }
    await writeRuns(execute, changes, this.defaultQueue, afterCommit);
  }

  async #lock(execute: Execute, { tenant, id }: WorkflowKey): Promise<LockedRun | null> {
    const rows = await execute<RunRow>(sql.lock_run({ tenant, id }));
    return (await this.#define(execute, rows)).get(id) ?? null;
  }

  /** By job id: the steps whose leases are held, each with its workflow, which is now locked. */
  async #lockRunsOf(execute: Execute, items: readonly Settlement[]): Promise<Map<string, StepOfRun>> {
    const rows = await execute<LeasesRow>(sql.lock_runs_of_leases(leaseKeyColumns(items)));
    const runs = await this.#define(execute, rows);
    const held = new Map<string, StepOfRun>();
    for (const { id, job_ids: jobIds, steps } of rows) {
      const locked = runs.get(id)!;
      jobIds.forEach((jobId, n) => {
        const step = stepOf(locked, steps[n] ?? '');
        // While we waited for the lock, another report may have ended the job: its lease is older than the run we read.
        if (locked.state[step] === STEP.enqueued) held.set(jobId, { locked, step });
      });
    }
    return held;
  }

  async #define(execute: Execute, rows: readonly RunRow[]): Promise<Map<string, LockedRun>> {
    const definitions = await this.definitions.of(rows, execute);
    return new Map(rows.map((row) => [row.id, { ...row, definition: definitions.get(row.id)! }]));
  }

  /** Effects outside the database wait for the commit; a transaction that is repeated starts a new list of them. */
  async #transaction<T>(body: (execute: Execute, afterCommit: AfterCommit) => Promise<T>): Promise<T> {
    const { result, afterCommit } = await this.db.transaction(async (execute) => {
      const afterCommit = new AfterCommit();
      return { result: await body(execute, afterCommit), afterCommit };
    });
    afterCommit.apply(this.hub, this.counters);
    return result;
  }
}

interface Ended extends StepOutcome {
  readonly result: string;
  /** How much it adds to the context. */
  readonly bytes: number;
}

const endOf = ({ outcome, result }: Settlement, step: number, bytes: number): Ended => ({
  step,
  outcome: outcome as StepOutcome['outcome'],
  result: result ?? '{}',
  bytes,
});

const moveOf = (locked: LockedRun, ended: readonly StepOutcome[], completed: readonly Ended[]): Move => ({
  locked,
  completed,
  contextBytes: completed.reduce((sum, { bytes }) => sum + bytes, locked.context_bytes),
  next: (holds) => advance(locked.definition.graph, locked.state, ended, holds),
});

const unmergedChange = (locked: LockedRun, next: Advance): Change => ({
  locked,
  advance: next,
  completed: [],
  contextBytes: locked.context_bytes,
});

/** Those that are still the jobs of their steps. After a resume, a step has another one than somebody may have seen. */
async function currentJobs(execute: Execute, locked: LockedRun, jobs: readonly StepJob[]): Promise<readonly StepJob[]> {
  if ((locked.resumes ?? null) === null) return jobs;
  const steps = jobs.map(({ name }) => stepOf(locked, name));
  const current = new Set(await jobsOfSteps(execute, locked, steps));
  return jobs.filter(({ id }) => current.has(id));
}

const stepOf = ({ definition }: LockedRun, name: string): number => definition.indexOf.get(name) ?? -1;
