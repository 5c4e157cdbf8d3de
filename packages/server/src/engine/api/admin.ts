import type {
  AdminOverview,
  AdminQueue,
  AdminTenant,
  QueueSettings,
  QueueSettingsInput,
  Worker,
} from '@millrace/contract';
import type { EndsByTenant } from '../../domain/ends-by-tenant.js';
import type { LimitPageRead, LimitsQuery, SeriesQuery } from './insight.js';
import type { CursorQuery } from './lists.js';

/** Of all tenants together. */
export type AdminSeriesQuery = Omit<SeriesQuery, 'task'>;

export interface TenantPage {
  readonly tenants: readonly AdminTenant[];
  readonly nextCursor: string | null;
}

/** What operators see and do: all tenants together. */
export interface AdminApi {
  /** All but the version of the server. */
  overview(): Promise<Omit<AdminOverview, 'version'>>;
  queues(): Promise<readonly AdminQueue[]>;
  /** In the order of their names. */
  tenants(query: CursorQuery): Promise<TenantPage>;
  workers(): Promise<readonly Worker[]>;
  /** Whose jobs ended, over time. */
  series(query: AdminSeriesQuery): Promise<EndsByTenant>;
  /** By tenant, queue and key. */
  limits(query: LimitsQuery): Promise<LimitPageRead>;
  settings(queue: string): Promise<QueueSettings>;
  /** What is not given stays as it is. */
  set(queue: string, settings: QueueSettingsInput): Promise<QueueSettings>;
  /** From its commit on, no claim takes a job of the queue. What runs goes on. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
}
