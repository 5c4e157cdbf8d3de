import { WORKER_JOBS_SHOWN, type Worker } from '@millrace/contract';
import { slotsTaken } from '../../domain/slots-taken.js';
import { float8Array, int4Array, textArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { toInstant } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Offers, SeenOffer } from '../shared/offers.js';
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
/** Jobs are in JSON. */
type StoredWorker = Omit<Worker, 'slots' | 'in_use' | 'tasks' | 'running_jobs'> & { readonly running_jobs: string };

export class Workers {
  constructor(
    private readonly db: Database,
    readonly recorder: WorkerRecorder,
    private readonly offers: Offers,
  ) {}

  /**
   * Those that held jobs of the tenant, and those that asked for jobs of queues where it has some, the last seen first.
   * What others know is not told: the names of tasks may be those of other tenants.
   */
  of(tenant: string): Promise<readonly Worker[]> {
    const query = {
      tenant,
      statement: sql.workers_of({ tenant, max_workers: MAX_WORKERS, max_rows: MAX_HELD, max_jobs: WORKER_JOBS_SHOWN }),
    };
    return this.#read(tenant, query, (tally) => tally.tenant === tenant);
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
    return this.#read(null, query, () => true);
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

  async #read(
    tenant: string | null,
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
    await this.#addAskers(workers, tenant, await this.offers.lately(tenant ?? ALL_TENANTS, nowMs, askedAt));
    const isRecent = ({ running, last_seen_at: at }: Worker): boolean =>
      running > 0 || nowMs - Date.parse(at) < HOUR_MS;
    const shown = [...workers.values()].filter(isRecent).sort(byLastSeen).slice(0, MAX_WORKERS);
    return this.#withUse(tenant, shown);
  }

  /** Who asks says what it can hold and know; who asks on a queue of the tenant's is shown though it held nothing. */
  async #addAskers(workers: Map<string, Worker>, tenant: string | null, offers: readonly SeenOffer[]): Promise<void> {
    const strangers = offers.filter(({ queue, worker }) => !workers.has(keyOf(worker, queue)));
    const used = await this.#queuesUsed(
      tenant,
      strangers.map(({ queue }) => queue),
    );
    for (const { queue, worker, slots, tasks, lastSeenAt } of offers) {
      const known = workers.get(keyOf(worker, queue));
      if (known === undefined && !used.has(queue)) continue;
      const seen = { first_seen_at: known?.first_seen_at ?? lastSeenAt, last_seen_at: lastSeenAt };
      const asker = { ...NOTHING, ...seen, worker_id: worker, queue_name: queue };
      const mayKnow = known !== undefined || tenant === null;
      add(workers, { ...asker, slots, tasks: mayKnow && tasks ? [...tasks] : null });
    }
  }

  async #queuesUsed(tenant: string | null, queues: readonly string[]): Promise<ReadonlySet<string>> {
    const names = [...new Set(queues)];
    if (tenant === null || names.length === 0) return new Set(names);
    const statement = sql.queues_used({ tenant, queues: textArray(names) });
    const rows = await this.db.read<{ queue: string }>({ tenant, statement });
    return new Set(rows.map(({ queue }) => queue));
  }

  /** How much of what they offer is taken. A tenant's own jobs are not all of it; those of all tenants are. */
  async #withUse(tenant: string | null, workers: readonly Worker[]): Promise<readonly Worker[]> {
    const offering = workers.filter(({ slots }) => slots !== null);
    if (offering.length === 0) return workers;
    if (tenant === null) return workers.map((each) => withTaken(each, each.running));
    const statement = sql.slots_in_use({
      workers: textArray(offering.map(({ worker_id }) => worker_id)),
      queues: textArray(offering.map(({ queue_name }) => queue_name)),
      max_rows: MAX_HELD,
    });
    const rows = await this.db.count<{ worker: string; queue: string; n: number }>({ tenant, statement });
    const held = new Map(rows.map(({ worker, queue, n }) => [keyOf(worker, queue), n]));
    return workers.map((each) => withTaken(each, held.get(keyOf(each.worker_id, each.queue_name)) ?? 0));
  }
}

const keyOf = (worker: string, queue: string): string => `${worker}\0${queue}`;

const withTaken = (worker: Worker, held: number): Worker =>
  worker.slots === null ? worker : { ...worker, in_use: slotsTaken(held, worker.slots) };

/** Of a worker of which nothing is known yet. */
const NOTHING = {
  ...{ running: 0, running_jobs: [], completed: 0, failed: 0, expired: 0 },
  ...{ slots: null, in_use: null, tasks: null },
} satisfies Partial<Worker>;

/**
 * By the clock of the database, which said `nowMs` at some moment after `askedAt`. That may be a little late, but not
 * before a lease that the database saw earlier.
 */
function unwritten(tally: WorkerTally, nowMs: number, askedAt: number): Worker {
  const instantAt = (at: number): string => new Date(nowMs - Math.max(0, askedAt - at)).toISOString();
  tally.first ??= instantAt(tally.firstAt);
  tally.instant ??= instantAt(tally.seenAt);
  const { worker, queue, completed, failed, expired, first, instant } = tally;
  const seen = { first_seen_at: first, last_seen_at: instant };
  return { ...NOTHING, worker_id: worker, queue_name: queue, ...seen, completed, failed, expired };
}

const written = ({ running_jobs: jobs, ...row }: StoredWorker): Worker => ({
  ...NOTHING,
  ...row,
  running_jobs: (JSON.parse(jobs) as Worker['running_jobs']).map((job) => ({
    ...job,
    started_at: toInstant(job.started_at),
  })),
  first_seen_at: toInstant(row.first_seen_at),
  last_seen_at: toInstant(row.last_seen_at),
});

function add(workers: Map<string, Worker>, more: Worker): void {
  const key = keyOf(more.worker_id, more.queue_name);
  const known = workers.get(key);
  if (!known) return void workers.set(key, more);
  workers.set(key, {
    ...known,
    first_seen_at: isBefore(known.first_seen_at, more.first_seen_at) ? known.first_seen_at : more.first_seen_at,
    last_seen_at: byLastSeen(known, more) < 0 ? known.last_seen_at : more.last_seen_at,
    running: known.running + more.running,
    running_jobs: [...known.running_jobs, ...more.running_jobs],
    completed: known.completed + more.completed,
    failed: known.failed + more.failed,
    expired: known.expired + more.expired,
    slots: more.slots ?? known.slots,
    tasks: more.tasks ?? known.tasks,
  });
}

const isBefore = (one: string, other: string): boolean => Date.parse(one) <= Date.parse(other);

/** The last seen first. */
const byLastSeen = (a: Worker, b: Worker): number =>
  Date.parse(b.last_seen_at) - Date.parse(a.last_seen_at) ||
  compare(a.worker_id, b.worker_id) ||
  compare(a.queue_name, b.queue_name);

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
