import { WORKER_JOBS_SHOWN, type Worker } from '@millrace/contract';
import { float8Array, int4Array, textArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Offers } from '../shared/offers.js';
import type { WorkerRecorder, WorkerTally } from '../shared/worker-recorder.js';

/**
 * Who worked in the last hour, and what became of it: what processes have written, what this one has not written yet,
 * and what is held at this moment.
 */
const sql = loadStatements('insight/workers.sql');

/** How many workers of a tenant are remembered for each five minutes, and how many an answer names. */
const MAX_WORKERS = 1_000;
/** How many leases are looked at to see who holds what, and how many rows to see who did what. */
const MAX_HELD = 100_000;
const WRITE_BATCH = 2_000;
const FORGET_BATCH = 5_000;
/** Reads that are not for a tenant take turns with those of tenants under this name; no tenant has an empty name. */
const ALL_TENANTS = '';
const HOUR_MS = 3_600_000;

/** The first row tells the time even if there is no worker: then the rest is null. */
type WorkerRow = { readonly now: string } & (StoredWorker | { readonly worker_id: null });
/** Jobs and tasks are in JSON. */
type StoredWorker = Omit<Worker, 'tasks' | 'running_jobs'> & {
  readonly tasks: string | null;
  readonly running_jobs: string;
};

export class Workers {
  constructor(
    private readonly db: Database,
    readonly recorder: WorkerRecorder,
    private readonly offers: Offers,
  ) {}

  /** Those that held jobs of the tenant, the last seen first. */
  of(tenant: string): Promise<readonly Worker[]> {
    const query = {
      tenant,
      statement: sql.workers_of({ tenant, max_workers: MAX_WORKERS, max_rows: MAX_HELD, max_jobs: WORKER_JOBS_SHOWN }),
    };
    return this.#read(query, (tally) => tally.tenant === tenant);
  }

  /** The same for all tenants together. */
  all(): Promise<readonly Worker[]> {
    const query = {
      tenant: ALL_TENANTS,
      statement: sql.workers_of({
        tenant: null,
        max_workers: MAX_WORKERS,
        max_rows: MAX_HELD,
        max_jobs: WORKER_JOBS_SHOWN,
      }),
    };
    return this.#read(query, () => true);
  }

  /**
   * Writes what was noted since the last time, and removes what is too old to tell. What cannot be written is kept for
   * the next time, within bounds.
   */
  async write(): Promise<void> {
    const tallies = this.recorder.take();
    let done = 0;
    try {
      for (; done < tallies.length; done += WRITE_BATCH) await this.#add(tallies.slice(done, done + WRITE_BATCH));
    } finally {
      this.recorder.written(tallies.slice(done));
    }
  }

  async #add(tallies: readonly WorkerTally[]): Promise<void> {
    const now = this.recorder.now();
    await this.db.run(
      sql.add_workers({
        tenants: textArray(tallies.map(({ tenant }) => tenant)),
        workers: textArray(tallies.map(({ worker }) => worker)),
        queues: textArray(tallies.map(({ queue }) => queue)),
        ages_secs: float8Array(tallies.map(({ seenAt }) => (now - seenAt) / 1000)),
        completed: int4Array(tallies.map(({ completed }) => completed)),
        failed: int4Array(tallies.map(({ failed }) => failed)),
        expired: int4Array(tallies.map(({ expired }) => expired)),
        max_workers: MAX_WORKERS,
        max_stale: FORGET_BATCH,
      }),
    );
  }

  /** What this process heard itself is newer than what is written. */
  #withOffer(worker: Worker): Worker {
    const heard = this.offers.heard(worker.queue_name, worker.worker_id);
    return heard === null ? worker : { ...worker, slots: heard.slots, tasks: heard.tasks && [...heard.tasks] };
  }

  async #read(
    query: Parameters<Database['count']>[0],
    concerns: (tally: WorkerTally) => boolean,
  ): Promise<readonly Worker[]> {
    const askedAt = this.recorder.now();
    const rows = await this.db.count<WorkerRow>(query);
    const nowMs = Date.parse(toInstant(rows[0]!.now));
    const workers = new Map<string, Worker>();
    for (const { now: _, ...row } of rows) if (row.worker_id !== null) add(workers, written(row));
    for (const tally of this.recorder.unwritten()) {
      if (concerns(tally)) add(workers, unwritten(tally, nowMs, askedAt));
    }
    const isRecent = ({ running, last_seen_at: at }: Worker): boolean =>
      running > 0 || nowMs - Date.parse(at) < HOUR_MS;
    return [...workers.values()]
      .filter(isRecent)
      .sort(byLastSeen)
      .slice(0, MAX_WORKERS)
      .map((worker) => this.#withOffer(worker));
  }
}

/**
 * By the clock of the database, which said `nowMs` at some moment after `askedAt`. That may be a little late, but not
 * before a lease that the database saw earlier.
 */
function unwritten(tally: WorkerTally, nowMs: number, askedAt: number): Worker {
  tally.instant ??= new Date(nowMs - Math.max(0, askedAt - tally.seenAt)).toISOString();
  const { worker, queue, completed, failed, expired, instant } = tally;
  const counts = { running: 0, running_jobs: [], completed, failed, expired };
  return { worker_id: worker, queue_name: queue, last_seen_at: instant, ...counts, slots: null, tasks: null };
}

const written = ({ tasks, running_jobs: jobs, ...row }: StoredWorker): Worker => ({
  ...row,
  running_jobs: (JSON.parse(jobs) as Worker['running_jobs']).map((job) => ({
    ...job,
    started_at: toInstant(job.started_at),
  })),
  last_seen_at: toInstant(row.last_seen_at),
  tasks: tasks === null ? null : (JSON.parse(tasks) as string[]),
});

function add(workers: Map<string, Worker>, more: Worker): void {
  const key = `${more.worker_id}\0${more.queue_name}`;
  const known = workers.get(key);
  if (!known) return void workers.set(key, more);
  workers.set(key, {
    ...known,
    last_seen_at: byLastSeen(known, more) < 0 ? known.last_seen_at : more.last_seen_at,
    running: known.running + more.running,
    running_jobs: [...known.running_jobs, ...more.running_jobs],
    completed: known.completed + more.completed,
    failed: known.failed + more.failed,
    expired: known.expired + more.expired,
  });
}

/** The last seen first. */
const byLastSeen = (a: Worker, b: Worker): number =>
  Date.parse(b.last_seen_at) - Date.parse(a.last_seen_at) ||
  compare(a.worker_id, b.worker_id) ||
  compare(a.queue_name, b.queue_name);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
