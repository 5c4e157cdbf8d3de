import { errorFor, isErrorCode, type MillraceError } from '../errors/call-errors.js';
import { isObject } from '../json/object.js';
import type { ErrorCode, ErrorDetail } from '../wire/index.js';
import { parseRetryAfter } from './retry.js';

/** What an answer means, or that there was none. */
export const NOT_JSON = Symbol('not JSON');

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

interface RefusedAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Pick<Headers, 'get'>;
}

interface RefusedCall {
  readonly method: string;
  readonly path: string;
  readonly key?: string;
}

/** What was called, for the `route` of an error. */
export const routeOf = ({ method, path }: Pick<RefusedCall, 'method' | 'path'>): string => `${method} ${path}`;

/** The error that an answer means. A proxy in between may answer with something else than the service's body. */
export function refusal(
  response: RefusedAnswer,
  text: string,
  { request, mayHaveHappened }: { request: RefusedCall; mayHaveHappened: boolean },
): MillraceError {
  const parsed = parse(text);
  const body = isObject(parsed) ? parsed : {};
  const { status, headers } = response;
  const answered = `the server answered ${`${status} ${response.statusText}`.trim()}`;
  return errorFor(typeof body.error === 'string' ? body.error : answered, {
    code: isErrorCode(body.code) ? body.code : codeOf(status),
    status,
    requestId: headers.get('x-request-id'),
    details: Array.isArray(body.details) ? (body.details as ErrorDetail[]) : [],
    retryAfter: parseRetryAfter(headers.get('retry-after')),
    mayHaveHappened,
    key: request.key ?? null,
    route: routeOf(request),
  });
}

/** For answers that are not the service's own. */
function codeOf(status: number): ErrorCode {
  switch (status) {
    case 401:
      return 'unauthorized';
    case 403:
      return 'forbidden';
    case 404:
      return 'not_found';
    case 405:
      return 'method_not_allowed';
    case 409:
      return 'conflict';
    case 413:
      return 'payload_too_large';
    case 415:
      return 'unsupported_media_type';
    case 421:
      return 'misdirected_request';
    case 429:
    case 502:
    case 503:
    case 504:
      return 'unavailable';
    default:
      return status >= 500 ? 'internal' : 'invalid_request';
  }
}

/**
 * Fetch hides the reason ("connection refused") in the cause of a TypeError. A name with several addresses fails with
 * an error for each, and no words of its own.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  const reason = cause instanceof Error ? cause : error;
  if (reason instanceof AggregateError && reason.errors.length > 0) return reasonOf(reason.errors[0]);
  return reason.message === '' ? error.message : reason.message;
}
