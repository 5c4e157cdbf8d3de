import { randomUUID } from 'node:crypto';
import type { OperationAction, OperationStatus } from '@millrace/contract';
import { isStepId } from '../../domain/ids.js';
import type { DeadLetterFilter, JobFilter, WorkflowScope } from '../../domain/filters.js';
import type { KeptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { ReplayScope } from '../../domain/operations.js';
import type { JsonText } from '../../domain/records.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import { AfterCommit } from '../outcomes/after-commit.js';
import type { Counters } from '../shared/counters.js';
import type { Hub } from '../shared/hub.js';
import type { Resumer } from '../workflows/resumer.js';
import type { StepSettler } from '../workflows/step-settler.js';
import { cancelJobs } from './bulk-cancel.js';
import { replayLetters } from './bulk-replay.js';
import { rerunJobs } from './bulk-rerun.js';
import { runJobsNow } from './bulk-run-now.js';
import { resumeWorkflows } from './bulk-resume.js';
import { bulkWalkOf, statusesOf, type WalkedChunk } from './bulk-walk.js';

/**
 * What operations do, batch by batch. A batch is one transaction: it locks the operation, which must still be this
 * process's own, changes its items, and moves the place and the counts. So whoever goes on after a crash neither
 * repeats nor misses an item, and a process that was thought dead changes nothing more.
 */
const sql = loadStatements('operations/operations.sql');

/** How long an operation stays with a process that says nothing. It says something every KEEP_MS. */
export const HELD_SECS = 4;
export const KEEP_MS = 1_000;

const BATCH = 500;
/** Each takes several statements of its own, with its workflow locked. */
const MAX_STEPS = 50;
/** Each may set aside the jobs of a thousand steps. */
const MAX_RESUMES = 10;
const MAX_ADOPTED = 100;
/** How many rows a look walks: few at first, and more while looks are quick. */
const CHUNK = { first: 1_000, smallest: 500, largest: 10_000, quickMs: 50 };

interface StateRow {
  readonly tenant: string;
  readonly action: OperationAction;
  readonly status: OperationStatus;
  readonly holder: string | null;
  readonly before: string;
  readonly scope: JsonText | null;
  readonly place: string | null;
  readonly ids: readonly string[] | null;
}

/** An operation that this process works on. */
export class HeldOperation {
  /** How many rows its next look walks. */
  rows = CHUNK.first;

  constructor(readonly id: string) {}
}

/** What a batch did. */
interface Done {
  /** How many of its items it got to. */
  readonly looked: number;
  readonly changed: number;
  /** Jobs whose outcome is of interest. */
  readonly replayed: number;
}

export class OperationWork {
  /** Names this process. */
  readonly holder = randomUUID();
  #onStarted: (id: string) => void = () => undefined;

  constructor(
    private readonly db: Database,
    private readonly hub: Hub,
    private readonly counters: Counters,
    private readonly steps: StepSettler,
    private readonly resumer: Resumer,
  ) {}

  /** Who is to work on operations that are created here. */
  onStarted(listener: (id: string) => void): void {
    this.#onStarted = listener;
  }

  started(id: string): void {
    this.#onStarted(id);
  }

  /** Takes over what no living process holds. */
  async adopt(): Promise<readonly string[]> {
    const rows = await this.db.run<{ id: string }>(
      sql.adopt_operations({ holder: this.holder, held_secs: HELD_SECS, max_operations: MAX_ADOPTED }),
    );
    return rows.map(({ id }) => id);
  }

  /** Holds these for longer. */
  async keep(ids: readonly string[]): Promise<void> {
    await this.db.run(sql.keep_operations({ holder: this.holder, held_secs: HELD_SECS, ids: uuidArray(ids) }));
  }

  /** Leaves what it has to others. */
  async release(): Promise<void> {
    await this.db.run(sql.release_operations({ holder: this.holder }));
  }

  /** Gives up on one that can't go on. */
  async fail(id: string): Promise<void> {
    await this.db.run(sql.fail_operation({ id, holder: this.holder }));
  }

  /** Removes those that ended so long ago. */
  async forget(hours: number): Promise<void> {
    for (;;) {
      const [row] = await this.db.run<{ removed: number }>(sql.forget_operations({ hours }));
      if ((row?.removed ?? 0) === 0) return;
    }
  }

  /** One batch. False: there is nothing more to do here. */
  async step(held: HeldOperation): Promise<boolean> {
    const [state] = await this.db.run<StateRow>(sql.state_of_operation({ id: held.id }));
    if (state?.status !== 'running' || state.holder !== this.holder) return false;
    const chunk = state.ids === null ? await this.#walk(held, state) : firstOf(state.ids);
    const { goesOn, afterCommit } = await this.db.transaction(async (execute) => {
      const afterCommit = new AfterCommit();
      return { goesOn: await this.#batch(execute, held.id, state, chunk, afterCommit), afterCommit };
    });
    afterCommit.apply(this.hub, this.counters);
    return goesOn;
  }

  async #walk(held: HeldOperation, { tenant, action, before, scope, place }: StateRow): Promise<WalkedChunk> {
    const parsed = JSON.parse(scope ?? '{}') as JobFilter | DeadLetterFilter | WorkflowScope;
    const startedAt = performance.now();
    const walk = bulkWalkOf(this.db, tenant, action, { ...parsed, createdBefore: before });
    const chunk = await walk.walk(place, held.rows, BATCH);
    const isQuick = performance.now() - startedAt < CHUNK.quickMs;
    held.rows = Math.min(CHUNK.largest, Math.max(CHUNK.smallest, Math.floor(held.rows * (isQuick ? 2 : 0.5))));
    return chunk;
  }

  async #batch(
    execute: Execute,
    id: string,
    state: StateRow,
    chunk: WalkedChunk,
    afterCommit: AfterCommit,
  ): Promise<boolean> {
    const [mine] = await execute(sql.lock_operation({ id, holder: this.holder }));
    if (!mine) return false;
    const items = state.action === 'resume_workflows' ? chunk.items.slice(0, MAX_RESUMES) : withFewSteps(chunk.items);
    const done =
      items.length === 0
        ? { looked: 0, changed: 0, replayed: 0 }
        : await this.#change(
            execute,
            id,
            state,
            items.map((item) => item.id),
            afterCommit,
          );
    const { looked, changed, replayed } = done;
    const isWhole = looked === chunk.items.length;
    const isEnd = chunk.isEnd && isWhole;
    await execute(
      sql.advance_operation({
        id,
        place: isWhole ? chunk.place : items[looked - 1]!.place,
        ids: state.ids === null ? null : textArray(state.ids.slice(looked)),
        looked_at: looked,
        changed,
        replayed,
        is_over: isEnd,
        held_secs: HELD_SECS,
      }),
    );
    return !isEnd;
  }

  async #change(
    execute: Execute,
    id: string,
    { tenant, action, scope }: StateRow,
    ids: readonly string[],
    afterCommit: AfterCommit,
  ): Promise<Done> {
    if (action === 'replay_dead_letters') {
      const { looked, created } = await replayLetters(execute, tenant, id, ids, keptIn(scope), afterCommit);
      return { looked, changed: created, replayed: created };
    }
    if (action === 'resume_workflows') {
      const changed = await resumeWorkflows(execute, tenant, ids, this.resumer, afterCommit);
      return { looked: ids.length, changed, replayed: 0 };
    }
    if (action === 'rerun_jobs') {
      const { looked, created } = await rerunJobs(execute, tenant, id, ids, afterCommit);
      return { looked, changed: created, replayed: created };
    }
    if (action === 'run_jobs_now') {
      return { looked: ids.length, changed: await runJobsNow(execute, tenant, ids, afterCommit), replayed: 0 };
    }
    const statuses = scope === null ? null : statusesOf(action, JSON.parse(scope) as JobFilter);
    const changed = await cancelJobs(execute, tenant, ids, statuses, this.steps, afterCommit);
    return { looked: ids.length, changed, replayed: 0 };
  }
}

/** Which checkpoints a replay keeps; null: none. */
const keptIn = (scope: JsonText | null): KeptCheckpoints | null =>
  (JSON.parse(scope ?? '{}') as ReplayScope).keptCheckpoints ?? null;

/** The next batch of an operation that was given ids. */
const firstOf = (ids: readonly string[]): WalkedChunk => ({
  items: ids.slice(0, BATCH).map((id) => ({ id, place: '' })),
  place: '',
  isEnd: ids.length <= BATCH,
});

/** The first items, with at most so many jobs of steps among them. The id of a dead letter never looks like one. */
function withFewSteps(items: WalkedChunk['items']): WalkedChunk['items'] {
  let steps = 0;
  const end = items.findIndex(({ id }) => isStepId(id) && ++steps > MAX_STEPS);
  return end === -1 ? items : items.slice(0, end);
}
