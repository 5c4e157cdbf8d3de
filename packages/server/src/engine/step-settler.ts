import { advance, cancelRun, type StepOutcome } from '../domain/dag.js';
import { uuidArray } from '../store/arrays.js';
import { Batcher } from '../store/batcher.js';
import type { Database, Run } from '../store/database.js';
import { loadStatements } from '../store/sql.js';
import { Aftermath } from './aftermath.js';
import { cancelAll } from './cancel-steps.js';
import type { Definitions, WorkflowKey } from './definitions.js';
import type { Hub } from './hub.js';
import type { Ledger } from './ledger.js';
import { jobsOfSteps, writeRuns, type Change, type LockedRun } from './run-writer.js';
import { runSettle, type Settlement } from './settlement.js';

/**
 * The end of a step's job, and what follows from it, in one transaction: lock the workflows, settle the jobs, advance each workflow by the
 * rules of domain/dag.ts, enqueue what became ready. Whoever dies in the middle leaves nothing behind, so a workflow never depends on a
 * process that saw a completion living on.
 *
 * Whatever ends a step's job holds its workflow's lock first. That is what makes a join see all its parents, and only once.
 */
const sql = loadStatements('workflows.sql', ['lock_runs_of_leases', 'lock_run']);

type RunRow = Omit<LockedRun, 'definition'>;

interface LeaseRow extends RunRow {
  readonly job_id: string;
  readonly step: string;
}

const BATCH = { maxItems: 500, inFlight: 2, maxWaiting: 100_000 };

export class StepSettler {
  readonly #batch = new Batcher<Settlement, boolean>(
    (items) => this.#transaction((run, after) => this.#settle(run, items, after)),
    BATCH,
  );

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly ledger: Ledger,
    private readonly definitions: Definitions,
    private readonly defaultQueue: string,
  ) {}

  /** True if the lease stood and the job has ended. */
  settle(settlement: Settlement): Promise<boolean> {
    return this.#batch.submit(settlement);
  }

  /** Cancels the job of one step. False: it has ended already. */
  cancelStep(workflow: WorkflowKey, step: string, jobId: string): Promise<boolean> {
    return this.#transaction(async (run, aftermath) => {
      const locked = await this.#lock(run, workflow);
      if (!locked || !(await cancelAll(run, workflow.tenant, [jobId], aftermath))) return false;
      const ended: StepOutcome = { step: stepOf(locked, step), outcome: 'cancelled' };
      const change = advance(locked.definition.graph, locked.state, [ended]);
      await this.#follow(run, [{ locked, change, completed: [] }], aftermath);
      return true;
    });
  }

  /** False: it has ended already. */
  cancelWorkflow(workflow: WorkflowKey): Promise<boolean> {
    return this.#transaction(async (run, aftermath) => {
      const locked = await this.#lock(run, workflow);
      if (!locked) return false;
      await this.#follow(run, [{ locked, change: cancelRun(locked.state), completed: [] }], aftermath);
      return true;
    });
  }

  async #settle(run: Run, items: readonly Settlement[], aftermath: Aftermath): Promise<boolean[]> {
    const keys = [uuidArray(items.map((item) => item.id)), uuidArray(items.map((item) => item.token))];
    const leases = new Map((await run<LeaseRow>(sql.lock_runs_of_leases, keys)).map((row) => [row.job_id, row]));
    const settled = await runSettle(
      run,
      items.filter((item) => leases.has(item.id)),
      true,
    );
    for (const row of settled) aftermath.settled(row);

    const runs = await this.#define(run, [...leases.values()]);
    const results = new Map(items.map((item) => [item.id, item.result ?? '{}']));
    const ends = new Map<LockedRun, Ended[]>();
    for (const { id, outcome } of settled) {
      const lease = leases.get(id)!;
      const locked = runs.get(lease.id)!;
      const ended = {
        step: stepOf(locked, lease.step),
        outcome: outcome as StepOutcome['outcome'],
        result: results.get(id)!,
      };
      const others = ends.get(locked);
      if (others) others.push(ended);
      else ends.set(locked, [ended]);
    }
    await this.#follow(
      run,
      [...ends].map(([locked, ended]) => changeBy(locked, ended)),
      aftermath,
    );

    const acted = new Set(settled.map((row) => row.token));
    return items.map((item) => item.token !== null && acted.has(item.token));
  }

  async #follow(run: Run, changes: readonly Change[], aftermath: Aftermath): Promise<void> {
    if (changes.length === 0) return;
    for (const { locked, change } of changes) {
      const jobs = await jobsOfSteps(run, locked, change.cancel);
      await cancelAll(run, locked.tenant, jobs, aftermath);
      if (change.end === null) continue;
      aftermath.workflowEnded(locked.tenant, change.end);
      this.definitions.forget(locked.id);
    }
    await writeRuns(run, changes, this.defaultQueue, aftermath);
  }

  async #lock(run: Run, { tenant, id }: WorkflowKey): Promise<LockedRun | null> {
    const rows = await run<RunRow>(sql.lock_run, [tenant, id]);
    return (await this.#define(run, rows)).get(id) ?? null;
  }

  async #define(run: Run, rows: readonly RunRow[]): Promise<Map<string, LockedRun>> {
    const definitions = await this.definitions.of(rows, run);
    return new Map(rows.map((row) => [row.id, { ...row, definition: definitions.get(row.id)! }]));
  }

  /** Effects outside the database wait for the commit; a transaction that is repeated starts a new list of them. */
  async #transaction<T>(body: (run: Run, aftermath: Aftermath) => Promise<T>): Promise<T> {
    const { result, aftermath } = await this.db.transaction(async (run) => {
      const aftermath = new Aftermath();
      return { result: await body(run, aftermath), aftermath };
    });
    aftermath.apply(this.hub, this.ledger);
    return result;
  }
}

interface Ended extends StepOutcome {
  readonly result: string;
}

function changeBy(locked: LockedRun, ended: readonly Ended[]): Change {
  const completed = ended.filter(({ outcome }) => outcome === 'completed');
  return { locked, change: advance(locked.definition.graph, locked.state, ended), completed };
}

const stepOf = ({ definition }: LockedRun, name: string): number => definition.indexOf.get(name) ?? -1;
