import { milliseconds, type Duration } from '../shared/duration.js';
import type { ServerEvent } from '../http/event-stream.js';
import { uuid7 } from '../shared/uuid7.js';
import type { Query } from './listing.js';
import { segment, type Session } from './session.js';
import { watch } from './watch.js';

/** A call of your own, to a route that the client has no method for. */
export interface RawRequest {
  /** GET unless said otherwise. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  query?: Query;
  /** JSON text, sent as it is. */
  body?: string;
  /** The Idempotency-Key; `true` makes a fresh one. */
  key?: string | true;
  /** How long one try may take. */
  timeout?: Duration;
  signal?: AbortSignal;
}

/** The answer of the service to a call of your own. */
export interface RawAnswer<T> {
  status: number;
  /** The JSON as it came: numbers have all their digits. Empty if there was no body. */
  text: string;
  /** The same, parsed; undefined if there was no body. */
  body: T;
  /** The server's clock when it answered, to about a second; this machine's, if it did not say. */
  now: Date;
}

/** The header counts whole seconds. Its next one: what has just happened must not seem to lie ahead. */
const DATE_STEP_MS = 1_000;

/** One event of a stream, as it came. */
export type RawEvent = ServerEvent;

/**
 * Calls by their address, with JSON as text: `millrace.raw`. For programs that pass on what the service says, such as
 * the command line; retries, keys and errors are those of every other call.
 *
 * @example const { text } = await millrace.raw.call(['jobs', id]);
 */
export class Raw {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** @param path the segments below `/api/v1`, not encoded */
  async call<T>(path: readonly string[], request: RawRequest = {}): Promise<RawAnswer<T>> {
    const { method = 'GET', query, body, key, timeout, signal } = request;
    const answer = await this.#session.transport.call<T>({
      method,
      path: address(path),
      signal,
      ...(query !== undefined && { query }),
      ...(body !== undefined && { bodyText: body }),
      ...(key !== undefined && { key: key === true ? uuid7() : key }),
      ...(timeout !== undefined && { timeoutMs: milliseconds(timeout) }),
    });
    const said = Date.parse(answer.headers.get('date') ?? '');
    return {
      status: answer.status,
      text: answer.text,
      body: answer.body,
      now: Number.isNaN(said) ? new Date() : new Date(said + DATE_STEP_MS),
    };
  }

  /** The events of a stream, up to and including the last one; connects again as often as needed. */
  follow(
    path: readonly string[],
    isLast: (event: RawEvent) => boolean,
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncIterable<RawEvent> {
    const seen = (event: RawEvent) => ({
      state: event,
      last: isLast(event),
      text: `${event.event}\n${event.data}`,
    });
    return { [Symbol.asyncIterator]: () => watch(this.#session.transport, address(path), seen, signal) };
  }
}

const address = (path: readonly string[]): string => path.map((part) => `/${segment(part)}`).join('');
