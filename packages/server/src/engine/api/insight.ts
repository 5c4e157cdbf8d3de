import type { AdminLimitUse, Counts, QueueDetail, Series, Stats, Worker } from '@millrace/contract';
import type { Instant } from '../../domain/records.js';
import type { CursorQuery } from './lists.js';

export interface SystemApi {
  /** True if the database answers and its schema is the one that this build expects. */
  ready(): Promise<boolean>;
  /** Which of several databases answer, by their names. Absent where there is one. */
  cells?(): readonly { readonly name: string; readonly up: boolean }[];
  /** Names of the tasks that this process runs, or in mode `api` also those that others run; sorted. */
  tasks(): Promise<readonly string[]>;
  /** Those of the tasks that no process of the service has registered; none if no process runs any. */
  unregistered(tasks: readonly string[]): Promise<readonly string[]>;
  /** The database's clock. */
  now(): Promise<Instant>;
  stats(tenant: string): Stats;
}

export interface SeriesQuery {
  readonly queue: string | null;
  readonly task: string | null;
  /** Null: an hour before `to`. */
  readonly from: Instant | null;
  /** Null: now. */
  readonly to: Instant | null;
}

export interface InsightApi {
  counts(tenant: string, queue: string | null): Promise<Omit<Counts, 'warnings'>>;
  series(tenant: string, query: SeriesQuery): Promise<Omit<Series, 'warnings'>>;
  queue(tenant: string, queue: string): Promise<QueueDetail>;
  /** Those that held jobs of the tenant in the last hour, the last seen first. */
  workers(tenant: string): Promise<readonly Worker[]>;
  /** The keys that unfinished jobs name as limits, by queue and key. */
  limits(tenant: string, query: LimitsQuery): Promise<LimitPageRead>;
}

export interface LimitsQuery extends CursorQuery {
  /** Null: of all queues. */
  readonly queue: string | null;
}

export interface LimitPageRead {
  readonly limits: readonly AdminLimitUse[];
  readonly nextCursor: string | null;
}
