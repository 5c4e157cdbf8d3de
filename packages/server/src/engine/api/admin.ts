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
export interface Deed {
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
export type Missed = (cell: string) => void;

/** Hears in how many databases numbers hold for each by itself, if there are several. */
export type HeldApart = (databases: number) => void;

/** What operators see and do: all tenants together. With one database, nobody is missed. */
export interface AdminApi {
  /** All but the version of the server. */
  overview(missed: Missed): Promise<Omit<AdminOverview, 'version' | 'warnings'>>;
  queues(missed: Missed): Promise<readonly AdminQueue[]>;
  /** In the order of their names. */
  tenants(query: CursorQuery, missed: Missed): Promise<TenantPage>;
  workers(missed: Missed): Promise<readonly Worker[]>;
  /** Whose jobs ended, over time. */
  series(query: AdminSeriesQuery, missed: Missed): Promise<EndsByTenant>;
  /** By tenant, queue and key. */
  limits(query: LimitsQuery, missed: Missed): Promise<LimitPageRead>;
  settings(queue: string, apart: HeldApart): Promise<QueueSettings>;
  /** What is not given stays as it is. */
  set(queue: string, settings: QueueSettingsInput, deed: Deed, apart: HeldApart): Promise<QueueSettings>;
  /** From its commit on, no claim takes a job of the queue. What runs goes on. */
  pause(queue: string, reason: string | null, deed: Deed): Promise<void>;
  resume(queue: string, deed: Deed): Promise<void>;
  audit(query: CursorQuery, missed: Missed): Promise<AuditRead>;
  /** An operator is about to read as this tenant. */
  noteRead(tenant: string, deed: Deed): Promise<void>;
}
