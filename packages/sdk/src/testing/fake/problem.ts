import type { ErrorCode, ErrorDetail } from '../../wire/index.js';

const STATUSES: Record<ErrorCode, number> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  lease_lost: 409,
  already_replayed: 409,
  already_finished: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  misdirected_request: 421,
  unavailable: 503,
  internal: 500,
};

/** A request that is refused. */
export class Problem extends Error {
  readonly code: ErrorCode;
  readonly details: readonly ErrorDetail[];

  constructor(code: ErrorCode, message: string, details: readonly ErrorDetail[] = []) {
    super(message);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return STATUSES[this.code];
  }
}

export const notFound = (what: string): Problem => new Problem('not_found', `${what} not found`);

export const invalid = (path: string, message: string): Problem =>
  new Problem('invalid_request', `${path} ${message}`, [{ path, message }]);
