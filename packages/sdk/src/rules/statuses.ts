/** The HTTP status of each error code, of the service and of the fake server alike. */
export const STATUSES = {
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
} as const;
