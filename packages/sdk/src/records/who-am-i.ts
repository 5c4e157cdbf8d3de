import type * as Wire from '../wire/index.js';
import { instant, instantOrNull } from './instants.js';

/** Whose token this is, and what the server can do. */
export interface WhoAmI {
  kind: Wire.WhoAmI['kind'];
  /** Null for tokens that belong to no tenant. */
  tenant: string | null;
  readOnly: boolean;
  expiresAt: Date | null;
  /** Whether the server runs with `--dev`. */
  dev: boolean;
  version: string;
  /** The queue of the server's own handlers. */
  defaultQueue: string;
  /** How long ended jobs are kept; null: for ever. */
  retentionHours: number | null;
  now: Date;
  features: string[];
}

export const whoAmIOf = (who: Wire.WhoAmI): WhoAmI => ({
  kind: who.kind,
  tenant: who.tenant_id,
  readOnly: who.read_only,
  expiresAt: instantOrNull(who.expires_at),
  dev: who.dev,
  version: who.version,
  defaultQueue: who.default_queue,
  retentionHours: who.retention_hours,
  now: instant(who.now),
  features: who.features,
});
