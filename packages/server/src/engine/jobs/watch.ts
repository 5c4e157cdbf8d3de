import { randomUUID } from 'node:crypto';
import type { JobStatus } from '@millrace/contract';
import { notFound } from '../../domain/errors.js';
import { groupBy } from '../../domain/group-by.js';
import { isTerminal, rank } from '../../domain/job-state.js';
import { int8Array, plainArray, textArray, uuidArray } from '../../store/arrays.js';
import type { Database } from '../../store/connection/database.js';
import type { JobRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { Hub } from '../shared/hub.js';
import { completeJobs } from '../shared/job-records.js';
import type { Reads } from './reads.js';
import type { JobRecord, JsonText } from '../../domain/records.js';
import type { JobNews } from '../api.js';

/**
 * Event streams. A watched job's transitions are written to a table by the same statements that make them, so none is
 * lost, however fast they follow each other and whichever process makes them. One reader per process fetches the
 * transitions for all its streams: whenever it is notified, and every SAFETY_MS while any stream is open.
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
/** A stream that lags behind by this much has no reader: it is ended rather than held in memory. */
const MAX_BACKLOG = 10_000;

type Position = Pick<
  JobRecord,
  'status' | 'delivery_count' | 'retry_count' | 'error_message' | 'scheduled_at' | 'started_at'
>;

interface Stream {
  readonly id: string;
  readonly tenant: string;
  readonly jobId: string;
  seen: number;
  last: Position;
  /** When the progress was reported that the stream has told last. */
  progressAt: string;
  readonly backlog: JobNews[];
  wake: (() => void) | null;
  ended: boolean;
}

interface WatchedJob {
  readonly record: JobRecord;
  readonly seq: number;
  readonly progressAt: string;
}

interface ProgressRow {
  readonly id: string;
  readonly at: string;
  readonly progress: JsonText;
  readonly delivery_count: number;
}

export class Watcher {
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | null = null;
  #reading: Promise<void> | null = null;
  #again = false;

  constructor(
    private readonly db: Database,
    hub: Hub,
    private readonly reads: Reads,
  ) {
    hub.onEvents(() => this.#read());
  }

  get open(): number {
    return this.#streams.size;
  }

  async watch(tenant: string, id: string, signal: AbortSignal): Promise<AsyncIterable<JobNews>> {
    const before = await this.reads.job(tenant, id);
    if (isTerminal(before.status)) return once(before);
    const streamId = randomUUID();
    await this.db.run(sql.watch({ job_id: before.id, stream: streamId, secs: WATCH_SECS }));
    try {
      const first = await this.#watched(tenant, before.id);
      if (!first) throw notFound('job');
      const stream: Stream = {
        id: streamId,
        tenant,
        jobId: before.id,
        seen: first.seq,
        last: first.record,
        progressAt: first.progressAt,
        backlog: [status(first.record)],
        wake: null,
        ended: false,
      };
      this.#streams.add(stream);
      this.#arm();
      return this.#follow(stream, signal);
    } catch (error) {
      await this.#unwatch(before.id, streamId);
      throw error;
    }
  }

  async #watched(tenant: string, jobId: string): Promise<WatchedJob | null> {
    const rows = await this.db.run<JobRow & { seq: number; progress_at: string | null }>(
      sql.watched_job({ tenant, id: jobId }),
    );
    const [job] = await completeJobs(this.db.run, rows);
    return job ? { record: job.record, seq: job.row.seq, progressAt: job.row.progress_at ?? '-infinity' } : null;
  }

  async #unwatch(jobId: string, streamId: string): Promise<void> {
    // If this fails, the watch expires, and the retention loop removes it (Maintenance.forgetTraces).
    await this.db.run(sql.unwatch({ job_id: jobId, stream: streamId })).catch(() => undefined);
  }

  async *#follow(stream: Stream, signal: AbortSignal): AsyncGenerator<JobNews> {
    const stop = () => {
      stream.ended = true;
      stream.wake?.();
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      while (!signal.aborted) {
        const news = stream.backlog.shift();
        if (news) {
          yield news;
          if (news.kind === 'status' && isTerminal(news.job.status)) return;
        } else if (stream.ended) {
          return;
        } else {
          await new Promise<void>((resolve) => (stream.wake = resolve));
          stream.wake = null;
        }
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#streams.delete(stream);
      await this.#unwatch(stream.jobId, stream.id);
    }
  }

  #arm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = this.#streams.size === 0 ? null : setTimeout(() => this.#read(), SAFETY_MS);
  }

  /** One reading at a time; a request that arrives meanwhile causes another one afterwards. */
  #read(): void {
    if (this.#streams.size === 0) return;
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
        await this.#readOnce([...this.#streams]);
      } catch {
        // The database is unavailable. The safety timer tries again.
        return;
      }
    }
  }

  async #readOnce(streams: readonly Stream[]): Promise<void> {
    const keys = { tenants: textArray(streams.map((s) => s.tenant)), ids: uuidArray(streams.map((s) => s.jobId)) };
    // States first: whatever they show is covered by the transitions read after them, or was never recorded.
    const states = await this.db.run<{ id: string; status: JobStatus; delivery_count: number }>(sql.states_of(keys));
    const seen = int8Array(streams.map((s) => s.seen));
    const rows = await this.db.run<JobRow & { seq: number }>(sql.transitions_since({ ...keys, seen }));
    const byJob = groupBy(streams, (stream) => stream.jobId);
    for (const { row, record } of await completeJobs(this.db.run, rows)) {
      for (const stream of byJob.get(row.id) ?? []) {
        if (row.seq <= stream.seen) continue;
        stream.seen = row.seq;
        push(stream, record);
      }
    }
    await this.#readProgress(byJob, states);
    const behind = states.filter((state) => byJob.get(state.id)?.some((stream) => rank(state) > rank(stream.last)));
    for (const { id } of behind) await this.#catchUp(byJob.get(id) ?? []);
    const known = new Set(states.map((state) => state.id));
    for (const stream of streams) if (!known.has(stream.jobId)) end(stream);
  }

  /** After the transitions: progress belongs to an attempt that the stream has told of, and that has not ended. */
  async #readProgress(
    byJob: ReadonlyMap<string, readonly Stream[]>,
    states: readonly { readonly id: string; readonly status: JobStatus }[],
  ): Promise<void> {
    const running = states.flatMap(({ id, status }) => (status === 'running' ? (byJob.get(id) ?? []) : []));
    if (running.length === 0) return;
    const ids = uuidArray(running.map((s) => s.jobId));
    const statement = sql.progress_since({ ids, seen: plainArray(running.map((s) => s.progressAt)) });
    for (const { id, at, progress, delivery_count } of await this.db.run<ProgressRow>(statement)) {
      for (const stream of byJob.get(id) ?? []) {
        const { last } = stream;
        if (at === stream.progressAt || last.status !== 'running' || last.delivery_count !== delivery_count) continue;
        stream.progressAt = at;
        pushProgress(stream, progress);
      }
    }
  }

  /**
   * The job is ahead of every transition we have read: either one was never recorded, or it was recorded just now and
   * has to be read first.
   */
  async #catchUp(streams: readonly Stream[]): Promise<void> {
    for (const stream of streams) {
      const now = await this.#watched(stream.tenant, stream.jobId);
      if (!now || rank(now.record) <= rank(stream.last)) continue;
      if (now.seq > stream.seen) this.#again = true;
      else push(stream, now.record);
    }
  }
}

function push(stream: Stream, record: JobRecord): void {
  const missed = missedBetween(stream.last, record);
  if (missed) stream.backlog.push(status(missed));
  stream.backlog.push(status(record));
  stream.last = record;
  if (stream.backlog.length > MAX_BACKLOG) end(stream);
  stream.wake?.();
}

/** The latest is all that counts: one that nobody has read yet is replaced. */
function pushProgress(stream: Stream, progress: JsonText): void {
  if (stream.backlog.at(-1)?.kind === 'progress') stream.backlog.pop();
  stream.backlog.push({ kind: 'progress', progress });
  stream.wake?.();
}

const status = (job: JobRecord): JobNews => ({ kind: 'status', job });

function end(stream: Stream): void {
  stream.ended = true;
  stream.wake?.();
}

/**
 * The state that must lie between two others. A job that waited, and after one more delivery waits again or has ended,
 * ran in between. A job that ran, and runs again or was cancelled after one more retry, waited in between.
 */
function missedBetween(last: Position, next: JobRecord): JobRecord | null {
  const nobody = { worker_id: null, lease_expires_at: null, progress: null };
  const shared = { ...next, ...nobody, result: null, completed_at: null };
  if (last.status !== 'running' && next.status !== 'running') {
    if (next.delivery_count !== last.delivery_count + 1 || next.started_at === null) return null;
    const { error_message, scheduled_at } = last;
    const retry_count = next.status === 'retrying' ? next.retry_count - 1 : next.retry_count;
    return { ...shared, status: 'running', next_retry_at: null, error_message, scheduled_at, retry_count };
  }
  const waited = last.status === 'running' && (next.status === 'running' || wasCancelledWaiting(last, next));
  if (!waited) return null;
  const isRetry = next.retry_count > 0;
  return {
    ...shared,
    status: isRetry ? 'retrying' : 'pending',
    delivery_count: next.delivery_count - (next.status === 'running' ? 1 : 0),
    started_at: last.started_at,
    next_retry_at: isRetry ? next.scheduled_at : null,
  };
}

const wasCancelledWaiting = (last: Position, next: JobRecord): boolean =>
  next.status === 'cancelled' && next.retry_count > last.retry_count;

async function* once(record: JobRecord): AsyncGenerator<JobNews> {
  yield status(record);
}
