import type { ErrorCode, ErrorDetail } from '@millrace/contract';

/**
 * The one error class of the product. Whatever a caller must be told about carries a stable code;
 * `http/answers/errors.ts` is the only place that turns a code into a status. Anything else that is thrown is a bug
 * and answers 500 without its message.
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

/** One field of a request is wrong: the sentence names it, and the details say the same for programs. */
export const invalidField = (path: string, message: string): MillraceError =>
  invalidRequest(`${path} ${message}`, [{ path, message }]);

/** A field that belongs to the caller is over --max-payload-bytes. */
export function payloadTooLarge(path: string, maxBytes: number): MillraceError {
  const message = `must be at most ${maxBytes} bytes of JSON`;
  return new MillraceError('payload_too_large', `${path} ${message}`, [{ path, message }]);
}

export const notFound = (what: string): MillraceError => new MillraceError('not_found', `${what} not found`);

export const forbidden = (message: string): MillraceError => new MillraceError('forbidden', message);

/** The database is away. Whoever keeps its connections has said so already; nobody else need repeat it. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof MillraceError && error.code === 'unavailable';

export const unavailable = (message: string, cause?: unknown): MillraceError =>
  new MillraceError('unavailable', message, undefined, { cause });
