import { randomUUID } from 'node:crypto';
import type { JobStatus } from '@millrace/contract';
import { notFound } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import { isTerminal } from '../../domain/job-state.js';
import type { JsonText } from '../../domain/records.js';
import { int8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { JobNews } from '../api.js';
import type { EventStreams } from '../shared/event-streams.js';
import type { Hub } from '../shared/hub.js';
import { PulledStream } from '../shared/pulled-stream.js';
import { RecentStates } from '../shared/recent-states.js';
import type { Waits } from '../durable/waits.js';
import type { Reads } from './reads.js';
import { NEVER, WatchedJob, type Follower, type StatusNews } from './watched-job.js';

/**
 * Event streams. A watched job's transitions are written to a table by the same statements that make them, so none is
 * lost, however fast they follow each other and whichever process makes them. One reader per process looks for news of
 * all the jobs that its streams follow, each job once, however many follow it: whenever it is notified, and every
 * SAFETY_MS while any stream is open. What a look finds is small; records are read when they are told
 * (watched-job.ts).
 *
 * One gap remains: a statement that began before the watch was committed does not see it, and may commit after the
 * state was read. Its transition is not recorded. The ranks of two states show that one between them is missing, and
 * the later one tells what the missing one must have looked like; a last transition without a successor is found by
 * reading the state itself.
 *
 * Progress is no transition: a look finds the latest that each running attempt has reported, and tells that.
 */
const sql = loadStatements('jobs/events.sql');

const SAFETY_MS = 400;
/** Longer than any stream may live. */
const WATCH_SECS = 1_000;

interface KnownState {
  readonly id: string;
  readonly status: JobStatus;
  readonly delivery_count: number;
}

interface ProgressRow {
  readonly id: string;
  readonly at: string;
  readonly progress: JsonText;
  readonly delivery_count: number;
}

export class Watcher {
  readonly #jobs = new Map<string, WatchedJob>();
  readonly #recent = new RecentStates<StatusNews>();
  #open = 0;
  #timer: NodeJS.Timeout | null = null;
  #reading: Promise<void> | null = null;
  #again = false;

  constructor(
    private readonly db: Database,
    hub: Hub,
    private readonly reads: Reads,
    private readonly streams: EventStreams,
    private readonly waits: Waits,
  ) {
    hub.onEvents(() => this.#read());
  }

  get open(): number {
    return this.#open;
  }

  async watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<JobNews>> {
    const giveBack = this.streams.take(tenant);
    try {
      const state = await this.#state(tenant, id);
      return isTerminal(state.status)
        ? await this.#last(tenant, state.id, signal, giveBack)
        : await this.#follow(tenant, state.id, signal, giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  async #state(tenant: string, id: string): Promise<KnownState> {
    if (!isUuid(id)) throw notFound('job');
    const [state] = await this.db.run<KnownState>(sql.watched_state({ tenant, id }));
    if (state) return state;
    throw await this.reads.refusal(id);
  }

  /** Of a job that has ended there is one state to tell. */
  async #last(tenant: string, id: string, signal: AbortSignal, giveBack: () => void): Promise<PulledStream<JobNews>> {
    let news: JobNews | null = { kind: 'status', job: await this.reads.job(tenant, id) };
    const pull = async (): Promise<JobNews | null> => {
      const last = news;
      news = null;
      stream.end();
      return last;
    };
    const stream = new PulledStream({ pull, signal, onClose: async () => giveBack() });
    return stream;
  }

  /** A stream is listed before its job is read, and the job is read after its watch is committed. */
  async #follow(tenant: string, id: string, signal: AbortSignal, giveBack: () => void): Promise<PulledStream<JobNews>> {
    const job = this.#job(tenant, id);
    const streamId = randomUUID();
    const pull = (): Promise<JobNews | null> => job.next(follower);
    const onClose = (): Promise<void> => this.#leave(job, follower, streamId, giveBack);
    const stream = new PulledStream({ pull, onClose, signal });
    const follower: Follower = { stream, first: null, seen: 0, last: null, progressAt: NEVER };
    job.followers.add(follower);
    this.#open += 1;
    try {
      await this.db.run(sql.watch({ job_id: id, stream: streamId, secs: WATCH_SECS }));
      if (!(await job.begin(follower))) throw notFound('job');
    } catch (error) {
      await stream.return();
      throw error;
    }
    this.#arm();
    return stream;
  }

  #job(tenant: string, id: string): WatchedJob {
    let job = this.#jobs.get(id);
    const lookAgain = (): void => this.#read();
    if (!job)
      this.#jobs.set(
        id,
        (job = new WatchedJob({ tenant, id, db: this.db, recent: this.#recent, waits: this.waits, lookAgain })),
      );
    return job;
  }

  async #leave(job: WatchedJob, follower: Follower, streamId: string, giveBack: () => void): Promise<void> {
    job.followers.delete(follower);
    this.#open -= 1;
    giveBack();
    if (job.followers.size === 0 && this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);
    // If this fails, the watch expires, and the retention loop removes it (Maintenance.forgetTraces).
    await this.db.run(sql.unwatch({ job_id: job.id, stream: streamId })).catch(() => undefined);
  }

  #arm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = this.#jobs.size === 0 ? null : setTimeout(() => this.#read(), SAFETY_MS);
  }

  /** One reading at a time; a request that arrives meanwhile causes another one afterwards. */
  #read(): void {
    if (this.#jobs.size === 0) return;
    this.#again = true;
    this.#reading ??= this.#readUntilQuiet().finally(() => {
      this.#reading = null;
      this.#arm();
    });
  }

  async #readUntilQuiet(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        await this.#readOnce([...this.#jobs.values()]);
      } catch {
        // The database is unavailable. The safety timer tries again.
        return;
      }
    }
  }

  async #readOnce(jobs: readonly WatchedJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const ids = uuidArray(jobs.map(({ id }) => id));
    const tenants = textArray(jobs.map(({ tenant }) => tenant));
    // States first: whatever they show is covered by the transitions read after them, or was never recorded.
    const rows = await this.db.run<KnownState>(sql.states_of({ tenants, ids }));
    const states = new Map(rows.map((row) => [row.id, row]));
    const seen = int8Array(jobs.map((job) => job.seen));
    for (const { id, seq } of await this.db.run<{ id: string; seq: number }>(sql.transitions_since({ ids, seen })))
      this.#jobs.get(id)?.learnTransition(seq);
    await this.#readProgress(jobs.filter(({ id }) => states.get(id)?.status === 'running'));
    for (const job of jobs) {
      const state = states.get(job.id);
      if (state) job.learnState(state);
      else job.end();
      job.wakeFollowers();
    }
  }

  async #readProgress(running: readonly WatchedJob[]): Promise<void> {
    if (running.length === 0) return;
    const ids = uuidArray(running.map(({ id }) => id));
    const seen = plainArray(running.map(({ progressAt }) => progressAt));
    for (const row of await this.db.run<ProgressRow>(sql.progress_since({ ids, seen })))
      this.#jobs.get(row.id)?.learnProgress(row.at, row.delivery_count, row.progress);
  }
}
