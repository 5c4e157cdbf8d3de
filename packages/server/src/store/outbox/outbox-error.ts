import { isOutage, translateAtStart } from '../failures.js';

/**
 * What is wrong with an outbox, for whoever runs the relay or a command: one sentence that says what to do. `lasting`:
 * waiting does not help.
 */
export class OutboxError extends Error {
  override readonly name = 'OutboxError';

  constructor(
    message: string,
    readonly lasting: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

interface Coded {
  readonly code?: string;
  readonly message?: string;
}

const MISSING = new Set(['3F000', '42P01', '42883', '42703']);
const NO_RIGHT = '42501';
const SQLSTATE = /^[0-9A-Z]{5}$/;

export const notInstalled = (cause?: unknown): OutboxError =>
  new OutboxError('there is no outbox in this database: millrace outbox install creates it', true, { cause });

/** An error of the application's database, in words. Anything unknown is passed on. */
export function outboxError(error: unknown): unknown {
  if (error instanceof OutboxError) return error;
  const { code = '', message = '' } = (error ?? {}) as Coded;
  if (MISSING.has(code)) return notInstalled(error);
  if (code === NO_RIGHT)
    return new OutboxError(
      `the role of this connection lacks a right (${message}): millrace outbox install --relay-role grants what a relay ` +
        'needs, --app-role what an application needs',
      true,
      { cause: error },
    );
  if (isOutage(error)) return new OutboxError("the application's database is out of reach", false, { cause: error });
  // A collision, a timeout of that database's own, a lock: it may pass.
  if (SQLSTATE.test(code))
    return new OutboxError(`the application's database refused a statement: ${message}`, false, { cause: error });
  return error;
}

/** The same where a wrong address or password must not be waited for. */
export function outboxErrorAtStart(error: unknown): unknown {
  const known = outboxError(error);
  return known instanceof OutboxError && !known.lasting ? translateAtStart(error) : known;
}
