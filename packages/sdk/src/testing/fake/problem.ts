import { STATUSES } from '../../rules/statuses.js';
import type { ErrorCode, ErrorDetail } from '../../wire/index.js';

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
