import type {
  AdminOverview,
  AdminQueue,
  AdminTenant,
  AuditEntry,
  QueueSettings,
  QueueSettingsInput,
  Worker,
} from '@millrace/contract';
import type { Instant } from '../../domain/records.js';
import type { EndsByTenant } from '../../domain/ends-by-tenant.js';
import type { LimitPageRead, LimitsQuery, SeriesQuery } from './insight.js';
import type { CursorQuery } from './lists.js';

/** Of all tenants together. */
export type AdminSeriesQuery = Omit<SeriesQuery, 'task'>;

export interface TenantPage {
  readonly tenants: readonly AdminTenant[];
  readonly nextCursor: string | null;
}

/** Who changes something, by which request. */
export interface AuditStamp {
  /** The same in every database of the service. */
  readonly id: string;
  readonly operator: string;
  readonly requestId: string;
  /** Null: by the clock of the database. */
  readonly at: Instant | null;
}

/** What operators did, the newest first; `id` tells entries of several databases apart. */
export interface AuditRead {
  readonly entries: readonly (AuditEntry & { readonly id: string })[];
  readonly nextCursor: string | null;
}

/** Is told the name of each database that did not answer a read over several: the answer leaves its tenants out. */
export type OnMissedCell = (cell: string) => void;

/** Hears in how many databases numbers hold for each by itself, if there are several. */
export type OnSeparateLimits = (databases: number) => void;

/** What operators see and do: all tenants together. With one database, nobody is missed. */
export interface AdminApi {
  /** All but the version of the server. */
  overview(missed: OnMissedCell): Promise<Omit<AdminOverview, 'version' | 'warnings'>>;
  queues(missed: OnMissedCell): Promise<readonly AdminQueue[]>;
  /** In the order of their names. */
  tenants(query: CursorQuery, missed: OnMissedCell): Promise<TenantPage>;
  workers(missed: OnMissedCell): Promise<readonly Worker[]>;
  /** Whose jobs ended, over time. */
  series(query: AdminSeriesQuery, missed: OnMissedCell): Promise<EndsByTenant>;
  /** By tenant, queue and key. */
  limits(query: LimitsQuery, missed: OnMissedCell): Promise<LimitPageRead>;
  settings(queue: string, apart: OnSeparateLimits): Promise<QueueSettings>;
  /** What is not given stays as it is. */
  set(queue: string, settings: QueueSettingsInput, stamp: AuditStamp, apart: OnSeparateLimits): Promise<QueueSettings>;
  /** From its commit on, no claim takes a job of the queue. What runs goes on. */
  pause(queue: string, reason: string | null, stamp: AuditStamp): Promise<void>;
  resume(queue: string, stamp: AuditStamp): Promise<void>;
  audit(query: CursorQuery, missed: OnMissedCell): Promise<AuditRead>;
  /** An operator is about to read as this tenant. */
  noteRead(tenant: string, stamp: AuditStamp): Promise<void>;
}
