import type { OperationAction } from '@millrace/contract';
import { searchedStatuses, type DeadLetterFilter, type JobFilter, type WorkflowScope } from '../../domain/filters.js';
import type { JobAction } from '../../domain/operations.js';
import { isUuid } from '../../domain/ids.js';
import type { Database } from '../../store/connection/database.js';
import { scanDeadLetters } from '../../store/lists/dead-letter-lists.js';
import { scanJobs } from '../../store/lists/job-lists.js';
import { scanWorkflows, type Scan, type ScanRow } from '../../store/lists/list-statements.js';
import { toInstant } from '../../store/rows.js';
import { cursorAfter, DEAD_LETTER_CURSOR, ID_CURSOR, readCursor, type CursorCodec } from '../shared/cursor.js';
import { searchById, type Search } from '../shared/search.js';

/**
 * Walks along everything that a filter selects, oldest first, in chunks that each take little time: what operations
 * work on, and what a dry run counts. An item is a job, a dead letter or a workflow, known by its id; a place is where
 * a walk has got to, as text.
 */
export interface BulkWalk {
  walk(from: string | null, rows: number, limit: number): Promise<WalkedChunk>;
  /** Counts everything, and names the first so many; for a bounded time. */
  count(shown: number): Promise<WalkCount>;
}

/** What one scan along a walk found. */
export interface WalkedChunk {
  /** Items in order, each with the place after it. */
  readonly items: readonly { readonly id: string; readonly place: string }[];
  /** The place after everything that was looked at, as far as it is in `items`. */
  readonly place: string | null;
  /** Nothing follows. */
  readonly isEnd: boolean;
}

export interface WalkCount {
  /** The oldest items that were found. */
  readonly first: readonly string[];
  readonly n: number;
  /** False: time was up. There are at least so many. */
  readonly isAll: boolean;
}

export function bulkWalkOf(
  db: Database,
  tenant: string,
  action: OperationAction,
  scope: JobFilter | DeadLetterFilter | WorkflowScope,
): BulkWalk {
  switch (action) {
    case 'cancel_jobs':
    case 'run_jobs_now':
    case 'rerun_jobs':
      return jobWalk(db, tenant, action, scope as JobFilter);
    case 'replay_dead_letters':
      return deadLetterWalk(db, tenant, scope as DeadLetterFilter);
    case 'resume_workflows':
      return workflowWalk(db, tenant, scope as WorkflowScope);
  }
}

/**
 * How far a count goes: in chunks of so many rows, for so long at most; and for so long from the other end, if it has
 * found nothing by then.
 */
const COUNT = { first: 1_000, largest: 16_000, ms: 2_000, newestMs: 1_000 };

/** The states in which a job can be changed so. */
const CHANGEABLE: Readonly<Record<JobAction, JobFilter['statuses']>> = {
  cancel_jobs: ['pending', 'running', 'retrying'],
  run_jobs_now: ['pending', 'retrying'],
  rerun_jobs: ['completed', 'failed', 'cancelled'],
};

/** What a scope means by states: those that can be changed, unless it names others. */
export const statusesOf = (action: JobAction, { statuses }: JobFilter): JobFilter['statuses'] =>
  statuses.length === 0 ? CHANGEABLE[action] : statuses;

function jobWalk(db: Database, tenant: string, action: JobAction, scope: JobFilter): BulkWalk {
  if (scope.workflowId !== null && !isUuid(scope.workflowId)) return NOTHING;
  const statuses = searchedStatuses({ ...scope, statuses: statusesOf(action, scope) });
  if (statuses === null) return NOTHING;
  const filter = { ...scope, tenant, statuses };
  return new Walker(db, {
    ...searchById,
    scan: (scan) => scanJobs(filter, scan),
    cursors: ID_CURSOR,
    idOf: (id) => id,
  });
}

function deadLetterWalk(db: Database, tenant: string, scope: DeadLetterFilter): BulkWalk {
  if (scope.jobId !== null && !isUuid(scope.jobId)) return NOTHING;
  const filter = { ...scope, tenant, replayed: scope.replayed ?? false };
  const placeAt = (at: string | null | undefined, id: string | null) =>
    at && id !== null ? { createdAt: toInstant(at), id: Number(id) } : null;
  return new Walker(db, {
    scan: (scan) => scanDeadLetters(filter, scan),
    hitOf: ({ created_at: at, id }) => placeAt(at, id),
    lastOf: ({ last_created_at: at, last_id: id }) => placeAt(at, id),
    cursors: DEAD_LETTER_CURSOR,
    idOf: ({ id }) => String(id),
  });
}

/** What is resumed unless a scope names a state: a workflow that somebody cancelled stays so. */
const FAILED = ['failed', 'partially_failed'] as const;

function workflowWalk(db: Database, tenant: string, scope: WorkflowScope): BulkWalk {
  return new Walker(db, {
    ...searchById,
    scan: (scan) => scanWorkflows({ ...scope, tenant }, scan, FAILED),
    cursors: ID_CURSOR,
    idOf: (id) => id,
  });
}

const NOTHING: BulkWalk = {
  walk: () => Promise.resolve({ items: [], place: null, isEnd: true }),
  count: () => Promise.resolve({ first: [], n: 0, isAll: true }),
};

interface Walked<At> extends Pick<Search<At, never>, 'scan' | 'hitOf' | 'lastOf'> {
  readonly cursors: CursorCodec<At>;
  readonly idOf: (at: At) => string;
}

class Walker<At> implements BulkWalk {
  constructor(
    private readonly db: Database,
    private readonly walked: Walked<At>,
  ) {}

  async walk(from: string | null, rows: number, limit: number): Promise<WalkedChunk> {
    const { walked } = this;
    const { cursors } = walked;
    const after = from === null ? null : readCursor(cursors, from).at;
    const found = await this.#scan({ ascending: true, after, rows, offset: 0, limit });
    const items = found.flatMap((row) => {
      const at = walked.hitOf(row);
      return at === null ? [] : [{ id: walked.idOf(at), place: cursorAfter(cursors, at) }];
    });
    const [first] = found;
    const isFull = items.length === limit;
    const last = first === undefined ? null : walked.lastOf(first);
    return {
      items,
      place: isFull ? items.at(-1)!.place : last === null ? from : cursorAfter(cursors, last),
      isEnd: !isFull && (first === undefined || first.walked < rows),
    };
  }

  async count(shown: number): Promise<WalkCount> {
    const counted = await this.#countFrom(true, shown, COUNT.ms);
    if (counted.isAll || counted.n > 0) return counted;
    // The oldest rows are all others. Who acts on what is in view means the newest, so these are looked at as well.
    const newest = await this.#countFrom(false, shown, COUNT.newestMs);
    return { ...newest, first: [...newest.first].reverse() };
  }

  /** Counts from one end, until the other or until time is up. */
  async #countFrom(ascending: boolean, shown: number, ms: number): Promise<WalkCount> {
    const { hitOf, lastOf, idOf } = this.walked;
    const first: string[] = [];
    const begun = performance.now();
    let n = 0;
    let after: At | null = null;
    for (let rows = COUNT.first; ; rows = Math.min(COUNT.largest, rows * 2)) {
      const found: ScanRow[] = await this.#scan({ ascending, after, rows, offset: 0, limit: shown - first.length });
      first.push(...found.map(hitOf).flatMap((at) => (at === null ? [] : [idOf(at)])));
      const walk = found[0];
      n += walk?.hits ?? 0;
      if (walk === undefined || walk.walked < rows) return { first, n, isAll: true };
      if (performance.now() - begun >= ms) return { first, n, isAll: false };
      after = lastOf(walk);
    }
  }

  #scan(scan: Scan<At>): Promise<ScanRow[]> {
    return this.db.read<ScanRow>(this.walked.scan(scan));
  }
}
