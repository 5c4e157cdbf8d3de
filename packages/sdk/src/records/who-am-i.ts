import type * as Wire from '../wire/index.js';
import { dateOf, dateOrNull } from './dates.js';

/** Whose token this is, and what the server can do. */
export interface WhoAmI {
  kind: Wire.WhoAmI['kind'];
  /** Null for tokens that belong to no tenant. */
  tenant: string | null;
  readOnly: boolean;
  expiresAt: Date | null;
  /** The operator who reads as this tenant; null: it is the tenant's own token. */
  readBy: string | null;
  /** Whether the server runs with `--dev`. */
  dev: boolean;
  version: string;
  /** The queue of the server's own handlers. */
  defaultQueue: string;
  /** How long ended jobs are kept; null: for ever. */
  retentionHours: number | null;
  now: Date;
  /** Where traces are shown, with `{trace_id}` for their id. */
  traceUrl: string | null;
  features: string[];
}

export const whoAmIOf = (who: Wire.WhoAmI): WhoAmI => ({
  kind: who.kind,
  tenant: who.tenant_id,
  readOnly: who.read_only,
  expiresAt: dateOrNull(who.expires_at),
  readBy: who.read_by ?? null,
  dev: who.dev,
  version: who.version,
  defaultQueue: who.default_queue,
  retentionHours: who.retention_hours,
  now: dateOf(who.now),
  // A server before 0.3 leaves it out.
  traceUrl: who.trace_url ?? null,
  features: who.features,
});
