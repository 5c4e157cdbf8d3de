import type { ErrorCode, ErrorDetail } from '../wire/index.js';
import { knownInBothFormats } from '../shared/both-formats.js';

/** The codes of the service, and what can go wrong without an answer of its. */
export type MillraceErrorCode = ErrorCode | 'no_answer' | 'timeout' | 'aborted';

/** What is known about a call that failed. */
export interface MillraceErrorFields {
  readonly code: MillraceErrorCode;
  readonly status?: number | null;
  readonly requestId?: string | null;
  readonly details?: readonly ErrorDetail[];
  readonly mayHaveHappened?: boolean;
  readonly key?: string | null;
  readonly route?: string | null;
  readonly retryAfter?: number | null;
  readonly cause?: unknown;
}

/**
 * A call that did not succeed. Branch on the class or on `code`; the wording of the message may change.
 *
 * @example
 * try {
 *   await millrace.jobs.cancel(id);
 * } catch (error) {
 *   if (!(error instanceof AlreadyFinishedError)) throw error;
 * }
 */
export class MillraceError extends Error {
  readonly code: MillraceErrorCode;
  /** The status of the answer; null if there was none. */
  readonly status: number | null;
  /** What the server calls the request in its log. */
  readonly requestId: string | null;
  /** The fields at fault, if the request failed validation. */
  readonly details: readonly ErrorDetail[];
  /** No final answer came to a call that changes something: it may have taken effect or not. */
  readonly mayHaveHappened: boolean;
  /** The Idempotency-Key of the call, if it had one: calling again with the same key repeats nothing. */
  readonly key: string | null;
  /** What was called, such as `POST /jobs`; null if nothing was sent. */
  readonly route: string | null;

  constructor(message: string, fields: MillraceErrorFields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = new.target.name;
    this.code = fields.code;
    this.status = fields.status ?? null;
    this.requestId = fields.requestId ?? null;
    this.details = fields.details ?? [];
    this.mayHaveHappened = fields.mayHaveHappened ?? false;
    this.key = fields.key ?? null;
    this.route = fields.route ?? null;
  }
}

/** 400: something about the request is wrong; `details` names the fields. */
export class InvalidRequestError extends MillraceError {
  declare readonly code: 'invalid_request';
}

/** The token is unknown, or may not do this. */
export class AuthError extends MillraceError {
  declare readonly code: 'unauthorized' | 'forbidden';
}

/** 401: no token, or one that the server does not know. */
export class UnauthorizedError extends AuthError {
  declare readonly code: 'unauthorized';
}

/** 403: the token may not do this, or the thing is another tenant's. */
export class ForbiddenError extends AuthError {
  declare readonly code: 'forbidden';
}

/** 404: there is no such thing, or no longer. */
export class NotFoundError extends MillraceError {
  declare readonly code: 'not_found';
}

/** 405: the server knows the address, but not for this method; it may be older than the SDK. */
export class MethodNotAllowedError extends MillraceError {
  declare readonly code: 'method_not_allowed';
}

/** 409: the state of the thing does not allow it. */
export class ConflictError extends MillraceError {
  declare readonly code: 'conflict' | 'already_finished' | 'already_replayed';
}

/** 409: the job or workflow has ended. */
export class AlreadyFinishedError extends ConflictError {
  declare readonly code: 'already_finished';
}

/** 409: the dead letter has been replayed. */
export class AlreadyReplayedError extends ConflictError {
  declare readonly code: 'already_replayed';
}

/** 409: another worker holds the lease by now. */
export class LeaseLostError extends MillraceError {
  declare readonly code: 'lease_lost';
}

/** 413: a payload, result, metadata or the whole request is too large. */
export class PayloadTooLargeError extends MillraceError {
  declare readonly code: 'payload_too_large';
}

/** 415: the body is not what the server reads. */
export class UnsupportedMediaTypeError extends MillraceError {
  declare readonly code: 'unsupported_media_type';
}

/** 421: the server does not answer to the host name in the address (`--allowed-hosts`). */
export class MisdirectedRequestError extends MillraceError {
  declare readonly code: 'misdirected_request';
}

/** 502, 503, 504: the service cannot answer at the moment. */
export class UnavailableError extends MillraceError {
  declare readonly code: 'unavailable';
  /** When to try again, in seconds, if the server said so. */
  readonly retryAfter: number | null;

  constructor(message: string, fields: MillraceErrorFields) {
    super(message, fields);
    this.retryAfter = fields.retryAfter ?? null;
  }
}

/** 500: a fault of the server. */
export class InternalError extends MillraceError {
  declare readonly code: 'internal';
}

/** Nothing answered: connection refused or broken, or the time of a try ran out. */
export class NoAnswerError extends MillraceError {
  declare readonly code: 'no_answer';
}

/** The job or workflow had not ended within the given time. It goes on. */
export class WaitTimeoutError extends MillraceError {
  declare readonly code: 'timeout';
}

/** The caller's AbortSignal fired; its reason is the `cause`. */
export class AbortedError extends MillraceError {
  declare readonly code: 'aborted';
}

const CLASSES: Record<MillraceErrorCode, new (message: string, fields: MillraceErrorFields) => MillraceError> = {
  invalid_request: InvalidRequestError,
  unauthorized: UnauthorizedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  method_not_allowed: MethodNotAllowedError,
  conflict: ConflictError,
  lease_lost: LeaseLostError,
  already_replayed: AlreadyReplayedError,
  already_finished: AlreadyFinishedError,
  payload_too_large: PayloadTooLargeError,
  unsupported_media_type: UnsupportedMediaTypeError,
  misdirected_request: MisdirectedRequestError,
  unavailable: UnavailableError,
  internal: InternalError,
  no_answer: NoAnswerError,
  timeout: WaitTimeoutError,
  aborted: AbortedError,
};

/** An error of the class that belongs to its code. */
export function errorFor(message: string, fields: MillraceErrorFields): MillraceError {
  return new CLASSES[fields.code](message, fields);
}

/** Whether the service, today, knows this code. A newer server may send others. */
export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(CLASSES, code);
}

knownInBothFormats({
  MillraceError,
  InvalidRequestError,
  AuthError,
  UnauthorizedError,
  ForbiddenError,
  NotFoundError,
  MethodNotAllowedError,
  ConflictError,
  AlreadyFinishedError,
  AlreadyReplayedError,
  LeaseLostError,
  PayloadTooLargeError,
  UnsupportedMediaTypeError,
  MisdirectedRequestError,
  UnavailableError,
  InternalError,
  NoAnswerError,
  WaitTimeoutError,
  AbortedError,
});
