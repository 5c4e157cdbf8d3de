/** What all routes share: errors, pages, and who is calling. */

export type Feature =
  | 'reports'
  | 'heartbeats'
  | 'release'
  | 'progress'
  | 'wait'
  | 'idempotency'
  | 'item_keys'
  | 'strict'
  | 'durable'
  | 'step_rules'
  | 'logs';

/** The codes of the errors that the service answers with. */
export type ErrorCode =
  | 'invalid_request'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'lease_lost'
  | 'already_replayed'
  | 'already_finished'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'misdirected_request'
  | 'unavailable'
  | 'internal';

export interface ErrorDetail {
  path: string;
  message: string;
}

export interface ErrorBody {
  error: string;
  code: ErrorCode;
  timestamp: string;
  details?: ErrorDetail[];
}

export interface PageFields {
  limit: number;
  offset: number;
  has_more: boolean;
  next_cursor?: string;
  prev_cursor?: string;
  total?: number;
  warnings?: string[];
}

export interface Count {
  n: number;
  exact: boolean;
}

/** Who the token belongs to, and what the server can do. */
export interface WhoAmI {
  kind: 'tenant' | 'worker' | 'admin' | 'developer';
  tenant_id: string | null;
  read_only: boolean;
  expires_at?: string;
  read_by?: string;
  dev: boolean;
  version: string;
  default_queue: string;
  retention_hours: number | null;
  now: string;
  trace_url: string | null;
  features: string[];
}
