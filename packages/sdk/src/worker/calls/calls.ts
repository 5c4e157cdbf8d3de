import { MillraceError } from '../../errors/call-errors.js';
import type { CallHooks, Exchange } from '../../http/transport.js';
import { Transport } from '../../http/transport.js';
import type { Logger } from '../../shared/logger.js';

/** Where the server is and how it is spoken to. */
export interface Connection {
  readonly url: string;
  readonly token: string;
  readonly fetch: typeof globalThis.fetch;
  /** Makes the calls instead of `fetch`. */
  readonly exchange?: Exchange;
  readonly logger: Logger;
  readonly hooks?: CallHooks;
}

/** One try per call: everything in a worker has a schedule of its own for repeating things. */
export function openTransport(connection: Connection): Transport {
  return new Transport({ ...connection, timeoutMs: CALL_MS, attempts: 1 });
}

/** How long a call may take unless it says otherwise. */
export const CALL_MS = 10_000;

/** Whether the server does not know the route that was called. */
export const isUnknownRoute = (error: unknown): boolean =>
  error instanceof MillraceError && (error.status === 404 || error.status === 405);

/** The `Retry-After` of an answer, in milliseconds. */
export function retryAfterMs(error: unknown): number | null {
  const seconds = error instanceof MillraceError && 'retryAfter' in error ? error.retryAfter : null;
  return typeof seconds === 'number' ? seconds * 1_000 : null;
}

/** Runs at most `most` at a time. */
export async function eachOf<T>(items: readonly T[], most: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, lane));
}
