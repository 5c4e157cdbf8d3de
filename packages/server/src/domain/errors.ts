import type { ErrorCode, ErrorDetail } from '@millrace/contract';

/**
 * The one error class for everything that a caller is told. It carries a stable code, which only
 * `http/answers/errors.ts` turns into a status. Anything else that is thrown is a bug: the answer is a 500 without the
 * message.
 */
export class MillraceError extends Error {
  override readonly name = 'MillraceError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly details?: readonly ErrorDetail[],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const invalidRequest = (message: string, details?: readonly ErrorDetail[]): MillraceError =>
  new MillraceError('invalid_request', message, details);

/** One field of a request is wrong: the message names it, and the details say the same for programs. */
export const invalidField = (path: string, message: string): MillraceError =>
  invalidRequest(`${path} ${message}`, [{ path, message }]);

/** A field that belongs to the caller is over --max-payload-bytes. */
export function payloadTooLarge(path: string, maxBytes: number): MillraceError {
  const message = `must be at most ${maxBytes} bytes of JSON`;
  return new MillraceError('payload_too_large', `${path} ${message}`, [{ path, message }]);
}

export const notFound = (what: string): MillraceError => new MillraceError('not_found', `${what} not found`);

/** Not, or no longer, the holder of the lease. */
export const leaseLost = (): MillraceError =>
  new MillraceError('lease_lost', 'the lease is no longer held under this token; stop working on the job');

export const forbidden = (message: string): MillraceError => new MillraceError('forbidden', message);

/** The request names a host that this server does not answer to. */
export const misdirected = (message: string): MillraceError => new MillraceError('misdirected_request', message);

/** The database cannot be reached. The owner of its connections has already logged that, so nothing else needs to. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof MillraceError && error.code === 'unavailable';

export const unavailable = (message: string, cause?: unknown): MillraceError =>
  new MillraceError('unavailable', message, undefined, { cause });

/** For a promise's `catch`: a refusal becomes an answer among others; anything else is thrown on. */
export function asRefusal(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  throw error;
}
