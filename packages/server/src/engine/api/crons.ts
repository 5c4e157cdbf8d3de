import type { CronFiringRecord, CronRecord, CronSpec } from '../../domain/cron-records.js';
import type { Instant } from '../../domain/records.js';
import type { Created } from './creates.js';
import type { ListQuery, Page } from './lists.js';

export interface CronListQuery extends ListQuery {
  /** Ordered by next firing, soonest first, instead of by creation. */
  readonly byNextRun: boolean;
}

export interface CronPut {
  readonly id: string;
  /** False: it existed, and was replaced. */
  readonly created: boolean;
}

/** What a trigger created. */
export interface TriggeredCron extends Created {
  readonly created: 'job' | 'workflow';
}

export interface CronsApi {
  create(tenant: string, spec: CronSpec): Promise<string>;
  /** Creates the schedule of that name, or replaces it. */
  put(tenant: string, spec: CronSpec): Promise<CronPut>;
  get(tenant: string, id: string): Promise<CronRecord>;
  list(tenant: string, query: CronListQuery): Promise<Page<CronRecord>>;
  remove(tenant: string, id: string): Promise<void>;
  pause(tenant: string, id: string): Promise<void>;
  resume(tenant: string, id: string): Promise<void>;
  /** The newest firings, as many as are kept; the time range applies to fired_at. */
  firings(tenant: string, id: string, query: ListQuery): Promise<Page<CronFiringRecord>>;
  /** Occurrences from now on; for a paused schedule, those it would have if it were resumed. */
  nextRuns(tenant: string, id: string, count: number): Promise<readonly Instant[]>;
  /** Enqueues its job or starts its workflow now, in addition to the timetable. */
  trigger(tenant: string, id: string, idempotencyKey: string | null): Promise<TriggeredCron>;
  /** The occurrences of a timetable from now on, the same for every tenant. */
  preview(timetable: Pick<CronSpec, 'expr' | 'timezone'>, count: number): Promise<readonly Instant[]>;
}
