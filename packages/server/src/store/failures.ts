import { MillraceError, unavailable } from '../domain/errors.js';

/**
 * What a database error means to the caller. Three kinds: the database is out of reach or cannot write (the caller gets 503 and may
 * come back), two statements collided (repeat at once), and everything else, which is a bug of ours.
 */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** An answer that this process cannot hold or understand. The connection it came on is of no use any more. */
export class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';

  constructor(cause: Error) {
    super(`an answer of the database could not be read: ${cause.message}`, { cause });
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
const OUTAGE = /^(08|53|57P0[1-5]|57014|25006|58030|F0000|55000|28)/;

const COLLISION = new Set(['40001', '40P01', '55P03']);

/** Messages of the driver that carry no code. */
const LOST =
  /Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Cannot use a pool after calling end|server closed the connection/i;

export function isCollision(error: unknown): boolean {
  return COLLISION.has((error as CodedError | null)?.code ?? '');
}

/**
 * A statement was prepared before the schema changed, and would return other columns now. Its code is that of everything
 * PostgreSQL does not support; the message comes in the language of the server; the routine tells.
 */
export function isStalePlan(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as CodedError;
  return code === '0A000' && routine === 'RevalidateCachedQuery';
}

export function isOutage(error: unknown): boolean {
  if (error instanceof DeadlineExceeded) return true;
  if (error instanceof AggregateError) return error.errors.some(isOutage);
  if (!(error instanceof Error)) return false;
  const { code = '' } = error as CodedError;
  return UNREACHABLE.has(code) || OUTAGE.test(code) || LOST.test(error.message);
}

/** True when the connection itself can't be trusted any more and must not go back to the pool. */
export function breaksConnection(error: unknown): boolean {
  if (error instanceof UnreadableAnswer) return true;
  return isOutage(error) && (error as CodedError).code !== '25006' && (error as CodedError).code !== '57014';
}

export function translate(error: unknown): unknown {
  if (error instanceof MillraceError || !isOutage(error)) return error;
  return unavailable('the database is out of reach; try again shortly', error);
}

/** Where to connect, or as whom, is wrong, and will be in half a minute: no start waits for that. */
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
 * For a start or a command. A process that already serves takes the same errors for an outage: the password is being
 * changed, or a name server is away, and it has no better place to go.
 */
export function translateAtStart(error: unknown): unknown {
  const cause = error instanceof MillraceError ? error.cause : error;
  const message = WRONG_SETTINGS[(cause as CodedError | null)?.code ?? ''];
  return message === undefined ? translate(error) : new ConnectionSettingsError(message, { cause });
}
