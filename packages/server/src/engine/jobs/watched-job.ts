import type { JobStatus } from '@millrace/contract';
import { isUnavailable } from '../../domain/errors.js';
import { isTerminal, rank } from '../../domain/job-state.js';
import { missedBetween, positionOf, type Position } from '../../domain/missed-state.js';
import type { JobRecord, JsonText } from '../../domain/records.js';
import type { Database } from '../../store/connection/database.js';
import type { JobRow } from '../../store/rows.js';
import { loadStatements } from '../../store/sql.js';
import type { JobNews } from '../api.js';
import { withParents } from '../durable/parent-ids.js';
import type { Waits } from '../durable/waits.js';
import { completeJobs } from '../shared/job-records.js';
import type { PulledStream } from '../shared/pulled-stream.js';
import { LARGE_CHARS, type RecentStates } from '../shared/recent-states.js';

/**
 * A job that streams of this process follow. A stream holds its position, never a record: how far it has told the job's
 * life. When its client is ready for the next event, it is found from what the looks of the watcher have learnt (the
 * numbers of transitions, the rank of the state, the latest progress), and its record is read. Streams that want the
 * same state share the reading and what it found.
 */
const sql = loadStatements('jobs/events.sql');

/** Before every instant that PostgreSQL writes. */
export const NEVER = '-infinity';

/** A stream that lags behind by this much has no reader: it is ended. */
const MAX_BACKLOG = 10_000;

export type StatusNews = JobNews & { readonly kind: 'status' };

export interface Follower {
  readonly stream: PulledStream<JobNews>;
  /** What it is about to tell first. */
  first: StatusNews | null;
  /** The number of the last transition that it has told. */
  seen: number;
  /** Null: it has not begun. */
  last: Position | null;
  /** When the progress was reported that it has told last. */
  progressAt: string;
}

interface StateRow {
  readonly status: JobStatus;
  readonly delivery_count: number;
  readonly retry_count: number;
  readonly scheduled_at: string;
  readonly lease_expires_at: string | null;
  readonly seq: number;
  readonly progress_at: string | null;
}

interface Snapshot {
  readonly news: StatusNews;
  readonly seq: number;
  readonly progressAt: string;
}

interface Progress {
  readonly at: string;
  readonly deliveryCount: number;
  readonly news: JobNews;
}

export interface WatchedJobOptions {
  readonly tenant: string;
  readonly id: string;
  readonly db: Database;
  readonly recent: RecentStates<StatusNews>;
  readonly waits: Waits;
  /** Transitions have been recorded that the last look has not found. */
  readonly lookAgain: () => void;
}

export class WatchedJob {
  readonly followers = new Set<Follower>();
  /** The numbers of transitions that some follower may not have told yet, in order. */
  #log: number[] = [];
  #seen = 0;
  #rank = -1;
  #progress: Progress | null = null;
  /** Its records are worth keeping, and worth a look whether they are still right. */
  #isLarge = false;
  #current: Promise<Snapshot | null> | null = null;
  readonly #transitions = new Map<number, Promise<StatusNews | null>>();

  constructor(private readonly options: WatchedJobOptions) {}

  get id(): string {
    return this.options.id;
  }

  get tenant(): string {
    return this.options.tenant;
  }

  /** The number of the last transition that is known here. */
  get seen(): number {
    return this.#seen;
  }

  get progressAt(): string {
    return this.#progress?.at ?? NEVER;
  }

  /** From here on the follower tells everything that happens. False: the job is gone. */
  async begin(follower: Follower): Promise<boolean> {
    // A reading that is under way may have begun before this follower was listed.
    await this.#current?.catch(() => undefined);
    const now = await this.#readShared();
    if (now === null) return false;
    follower.first = now.news;
    follower.seen = now.seq;
    follower.last = positionOf(now.news.job);
    follower.progressAt = now.progressAt;
    return true;
  }

  learnTransition(seq: number): void {
    this.#seen = seq;
    this.#log.push(seq);
  }

  learnState(state: { readonly status: JobStatus; readonly delivery_count: number }): void {
    this.#rank = rank(state);
  }

  learnProgress(at: string, deliveryCount: number, progress: JsonText): void {
    this.#progress = { at, deliveryCount, news: { kind: 'progress', progress } };
  }

  /** Wakes the followers that have something to tell. */
  wakeFollowers(): void {
    const told = Math.min(...Array.from(this.followers, ({ seen }) => seen));
    this.#log = this.#log.filter((seq) => seq > told);
    const oldest = this.#log.at(-MAX_BACKLOG) ?? 0;
    for (const follower of this.followers) {
      if (this.#log.length > MAX_BACKLOG && follower.seen < oldest) follower.stream.end();
      else if (this.#hasNews(follower)) follower.stream.wake();
    }
  }

  end(): void {
    for (const { stream } of this.followers) stream.end();
  }

  /** What the follower tells next; null: nothing yet, or the database is away, and the next look wakes it again. */
  async next(follower: Follower): Promise<JobNews | null> {
    const { first } = follower;
    follower.first = null;
    if (first !== null) return this.#ending(follower, first);
    try {
      return (await this.#nextTransition(follower)) ?? (await this.#nextUnrecorded(follower)) ?? this.#news(follower);
    } catch (error) {
      if (isUnavailable(error)) return null;
      throw error;
    }
  }

  #hasNews({ seen, last, progressAt }: Follower): boolean {
    if (last === null) return false;
    return (this.#log.at(-1) ?? 0) > seen || this.#rank > rank(last) || this.progressAt > progressAt;
  }

  async #nextTransition(follower: Follower): Promise<JobNews | null> {
    for (;;) {
      const seq = this.#log.find((each) => each > follower.seen);
      if (seq === undefined) return null;
      const news = await this.#transition(seq);
      if (news !== null) return this.#tell(follower, news, seq);
      // Retention has removed the job; the next look finds that out.
      follower.seen = seq;
    }
  }

  /**
   * The job is ahead of every transition that is known: either one was never recorded, or it was recorded just now and
   * has to be told first.
   */
  async #nextUnrecorded(follower: Follower): Promise<JobNews | null> {
    const last = rank(follower.last!);
    if (this.#rank <= last) return null;
    const now = await this.#readShared();
    if (now === null || rank(now.news.job) <= last) return null;
    if (now.seq <= follower.seen) return this.#tell(follower, now.news, follower.seen);
    this.options.lookAgain();
    return null;
  }

  /** Progress belongs to an attempt that the follower has told of, and that has not ended. */
  #news(follower: Follower): JobNews | null {
    const { last, progressAt } = follower;
    const progress = this.#progress;
    if (progress === null || progress.at <= progressAt) return null;
    follower.progressAt = progress.at;
    return last!.status === 'running' && last!.delivery_count === progress.deliveryCount ? progress.news : null;
  }

  /** What was missed before it is told first. */
  #tell(follower: Follower, news: StatusNews, seq: number): JobNews {
    const missed = this.#missedBefore(follower.last!, news.job, seq);
    if (missed === null) follower.seen = seq;
    const told = missed ?? news;
    follower.last = positionOf(told.job);
    return this.#ending(follower, told);
  }

  #ending(follower: Follower, news: StatusNews): JobNews {
    if (isTerminal(news.job.status)) follower.stream.end();
    return news;
  }

  #missedBefore(last: Position, job: JobRecord, seq: number): StatusNews | null {
    const missed = missedBetween(last, job);
    return missed && this.#shared(`${this.id}#${seq}<${rank(last)}`, missed);
  }

  /** With what it waits for, and whose child it is: as reading the job shows it. */
  async #shown(record: JobRecord): Promise<JobRecord> {
    const { db, waits } = this.options;
    const [job] = await withParents(db.run, [record]);
    return waits.shownOn(job!);
  }

  async #transition(seq: number): Promise<StatusNews | null> {
    const name = `${this.id}#${seq}`;
    const known = this.options.recent.get(name);
    if (known !== null) return known;
    const underWay = this.#transitions.get(seq);
    if (underWay !== undefined) return underWay;
    const reading = this.#readTransition(name, seq).finally(() => this.#transitions.delete(seq));
    this.#transitions.set(seq, reading);
    return reading;
  }

  async #readTransition(name: string, seq: number): Promise<StatusNews | null> {
    const { db, tenant, id } = this.options;
    const [job] = await completeJobs(db.run, await db.run<JobRow>(sql.transition({ tenant, id, seq })));
    return job ? this.#shared(name, await this.#shown(job.record)) : null;
  }

  #readShared(): Promise<Snapshot | null> {
    return (this.#current ??= this.#readCurrent().finally(() => (this.#current = null)));
  }

  async #readCurrent(): Promise<Snapshot | null> {
    const { db, tenant, id, recent } = this.options;
    if (this.#isLarge) {
      const [row] = await db.run<StateRow>(sql.watched_state({ tenant, id }));
      const news = row === undefined ? null : recent.get(this.#nameOf(row));
      if (row !== undefined && news !== null) return { news, ...placeOf(row) };
    }
    const rows = await db.run<JobRow & StateRow>(sql.watched_job({ tenant, id }));
    const [job] = await completeJobs(db.run, rows);
    if (!job) return null;
    const record = await this.#shown(job.record);
    return { news: this.#shared(this.#nameOf(job.row), record), ...placeOf(job.row) };
  }

  /** Of a state that is not a recorded transition: nothing that the record shows can change without changing it. */
  #nameOf({ status, delivery_count, retry_count, scheduled_at, lease_expires_at, progress_at }: StateRow): string {
    return [this.id, status, delivery_count, retry_count, scheduled_at, lease_expires_at, progress_at].join('/');
  }

  /** The same object for everybody, as long as it is worth keeping. */
  #shared(name: string, job: JobRecord): StatusNews {
    const known = this.options.recent.get(name);
    if (known !== null) return known;
    const news: StatusNews = { kind: 'status', job };
    const chars = job.payload.length + job.metadata.length + (job.result?.length ?? 0);
    this.#isLarge ||= chars >= LARGE_CHARS;
    this.options.recent.keep(name, news, chars);
    return news;
  }
}

const placeOf = ({ seq, progress_at: at }: StateRow): Pick<Snapshot, 'seq' | 'progressAt'> => ({
  seq,
  progressAt: at ?? NEVER,
});
