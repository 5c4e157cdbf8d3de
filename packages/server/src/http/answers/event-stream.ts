import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { HttpContext } from '../context.js';
import { EventWriter, eventOf, type SharedEvent } from './shared-event.js';
import { cutWhenUnread } from './unread.js';

/**
 * Server-sent events over a reply that has been hijacked from the framework. States are requested one at a time, each
 * only when the client has taken the one before: a slow reader never makes the server buffer more, and one that takes
 * nothing is cut off. What is sent of a state is made once for all streams that show it. A client that was cut off can
 * reconnect, and starts from the state at that moment.
 */

export const MAX_STREAM_MS = 15 * 60_000;
const KEEP_ALIVE_MS = 15_000;
/** A client that has stopped reading would hold up the end of its stream; after this long it is cut off. */
const FAREWELL_MS = 1_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Asks nginx and similar proxies not to buffer events.
  'x-accel-buffering': 'no',
};

export interface EventSource<T extends object> {
  readonly states: AsyncIterable<T>;
  readonly signal: AbortSignal;
  readonly format: (state: T) => string;
}

/**
 * Ends when the states do or when `signal` fires. If it throws, the stream is left open, and the caller must destroy
 * it.
 */
export async function streamEvents<T extends object>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  source: EventSource<T>,
): Promise<void> {
  const { raw } = reply;
  const writer = new EventWriter(raw, request.tenant, source.signal, context);
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
  // Otherwise the client would not learn that the stream is open until the first event.
  raw.flushHeaders();
  cutWhenUnread(raw, context);
  const keepAlive = setInterval(() => writer.keepAlive(), KEEP_ALIVE_MS);
  try {
    await pump(writer, source);
  } finally {
    clearInterval(keepAlive);
  }
  endOrCut(raw);
}

async function pump<T extends object>(writer: EventWriter, { states, signal, format }: EventSource<T>): Promise<void> {
  const iterator = states[Symbol.asyncIterator]();
  try {
    for (;;) {
      const event = await unlessAborted(nextEvent(iterator, format), signal);
      if (event === null || signal.aborted) return;
      await unlessAborted(writer.send(event), signal);
    }
  } finally {
    // Not awaited: an iterator in the middle of a wait returns only when that wait is over.
    iterator.return?.()?.catch(() => undefined);
  }
}

/**
 * Null: there are no more. On its own, so that nothing holds the state while the client takes it and the next one is
 * waited for.
 */
async function nextEvent<T extends object>(
  states: AsyncIterator<T>,
  format: (state: T) => string,
): Promise<SharedEvent | null> {
  const next = await states.next();
  return next.done === true ? null : eventOf(next.value, format);
}

/** The value of the promise, or null as soon as the signal fires; the promise is then abandoned. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => resolve(null);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function endOrCut(raw: ServerResponse): void {
  const timer = setTimeout(() => raw.destroy(), FAREWELL_MS);
  raw.once('close', () => clearTimeout(timer));
  raw.end();
}
