import { MillraceError, unavailable } from '../domain/errors.js';

/**
 * What a database error means to the caller:
 *
 * away     the database is out of reach or cannot write: 503, and one log line when this begins and one when it ends
 * busy     the database answers, but this statement takes or waits too long: 503 with another message, not an outage
 * large    the answer is larger than this process can read: 500, and the connection is lost
 * collided two statements conflicted (deadlock, serialization, lock): repeated at once
 * stale    the schema has changed since the statement was prepared: prepared again and repeated
 *
 * Everything else is a bug in this service.
 */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** An answer that this process cannot hold or parse. The connection it came on is no longer usable. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';

  constructor(cause: Error) {
    super(`the database's answer could not be read: ${cause.message}`, { cause });
  }
}

interface CodedError extends Error {
  readonly code?: string;
  readonly routine?: string;
}

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EACCES',
]);

/** SQLSTATE classes and codes under which no write can succeed now but may later. */
const OUTAGE = /^(08|53|57P0[1-5]|25006|58030|F0000|55000|28)/;
/** Cancelled by its own timeout, or by an operator. */
const CANCELLED = '57014';

const COLLISION = new Set(['40001', '40P01', '55P03']);

/** Messages of the driver that carry no code. */
const LOST =
  /Connection terminated|timeout expired|Client has encountered a connection error|Cannot use a pool after calling end|server closed the connection/i;

export function isCollision(error: unknown): boolean {
  return COLLISION.has((error as CodedError | null)?.code ?? '');
}

/** It did not get a lock within the time it was ready to wait. */
export const isLockTimeout = (error: unknown): boolean => (error as CodedError | null)?.code === '55P03';

/** A row with that key exists. */
export const isTaken = (error: unknown): boolean => (error as CodedError | null)?.code === '23505';

/** The connection has no such statement, whatever we believed: somebody has dropped it. */
const NOT_PREPARED = '26000';

/**
 * A statement was prepared before the schema changed, and would return different columns now; or it is gone. For the
 * former PostgreSQL uses the same code as for every unsupported feature, and the message is in the server's language,
 * so we go by the routine.
 */
export function isStalePlan(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as CodedError;
  return code === NOT_PREPARED || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

/** The driver's message when all connections of its pool are in use. Failing to open one gives another error. */
const NONE_FREE = 'timeout exceeded when trying to connect';

export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (error as CodedError).code === CANCELLED || error.message === NONE_FREE;
}

export const busy = (why: string, cause?: unknown): MillraceError =>
  unavailable(`the service is busy: ${why}; try again shortly`, cause);

export function isOutage(error: unknown): boolean {
  if (error instanceof DeadlineExceeded) return true;
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as CodedError;
  return UNREACHABLE.has(code) || OUTAGE.test(code) || LOST.test(error.message);
}

/** True when the connection itself can no longer be trusted and must not return to the pool. */
export function breaksConnection(error: unknown): boolean {
  if (error instanceof UnreadableAnswer) return true;
  return isOutage(error) && (error as CodedError).code !== '25006';
}

export function translate(error: unknown): unknown {
  if (error instanceof MillraceError) return error;
  if (error instanceof UnreadableAnswer)
    return new MillraceError('internal', 'the answer is too large to be read; ask for less at a time', undefined, {
      cause: error,
    });
  if (isBusy(error)) return busy(whyBusy(error as CodedError), error);
  if (!isOutage(error)) return error;
  return unavailable('the database is out of reach; try again shortly', error);
}

const whyBusy = ({ code }: CodedError): string =>
  code === CANCELLED ? 'the database did not finish this in time' : 'every connection to the database is in use';

/** The address or the credentials are wrong, and waiting will not fix that: startup fails at once. */
export class ConnectionSettingsError extends Error {
  override readonly name = 'ConnectionSettingsError';
}

const WRONG_SETTINGS: Readonly<Record<string, string>> = {
  '28P01': 'the database refuses these credentials',
  '28000': 'the database refuses these credentials',
  '3D000': 'there is no such database',
  ENOTFOUND: 'the host of the database is unknown',
};

/**
 * For startup and for commands. A process that is already serving treats the same errors as an outage: the password may
 * be being changed, or a name server may be down, and all it can do is keep trying.
 */
export function translateAtStart(error: unknown): unknown {
  const cause = error instanceof MillraceError ? error.cause : error;
  const message = WRONG_SETTINGS[(cause as CodedError | null)?.code ?? ''];
  return message === undefined ? translate(error) : new ConnectionSettingsError(message, { cause });
}
