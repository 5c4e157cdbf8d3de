import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { COUNTED_BYTES } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';
import { cutWhenUnread } from './unread.js';

/**
 * Server-sent events over a reply that has been hijacked from the framework. States are requested one at a time, each
 * only when the client has taken the one before: a slow reader never makes the server buffer more, and one that takes
 * nothing is cut off. A client that was cut off can reconnect, and starts from the state at that moment.
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

export interface EventSource<T> {
  readonly states: AsyncIterable<T>;
  readonly signal: AbortSignal;
  readonly format: (state: T) => string;
}

/** Like the response's own write: false if the client must take something first. */
type Write = (text: string) => boolean;

/**
 * Ends when the states do or when `signal` fires. If it throws, the stream is left open, and the caller must destroy
 * it.
 */
export async function streamEvents<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  { states, signal, format }: EventSource<T>,
): Promise<void> {
  const { raw } = reply;
  const write: Write = (text) => writeCounted(raw, text, request.tenant, context);
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
  // Otherwise the client would not learn that the stream is open until the first event.
  raw.flushHeaders();
  cutWhenUnread(raw, context);
  const keepAlive = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': keep-alive\n\n');
  }, KEEP_ALIVE_MS);
  try {
    await pump(raw, write, states[Symbol.asyncIterator](), signal, format);
  } finally {
    clearInterval(keepAlive);
  }
  endOrCut(raw);
}

/** A large event that there is no room for is not sent: the stream is cut off instead. */
function writeCounted(raw: ServerResponse, text: string, owner: string, { answers, metrics }: HttpContext): boolean {
  if (text.length < COUNTED_BYTES) return raw.write(text);
  const event = Buffer.from(text);
  const hold = answers.tryHold(owner, event.length);
  if (hold === null) {
    metrics.requestsShed.inc({ load: 'answer' });
    raw.destroy();
    return false;
  }
  const release = (): void => {
    raw.off('close', release);
    hold.release();
  };
  raw.once('close', release);
  return raw.write(event, release);
}

async function pump<T>(
  raw: ServerResponse,
  write: Write,
  states: AsyncIterator<T>,
  signal: AbortSignal,
  format: (state: T) => string,
): Promise<void> {
  try {
    for (;;) {
      const next = await unlessAborted(states.next(), signal);
      if (next === null || next.done === true) return;
      if (!write(format(next.value))) await unlessAborted(once(raw, 'drain'), signal);
    }
  } finally {
    // Not awaited: an iterator in the middle of a wait returns only when that wait is over.
    states.return?.()?.catch(() => undefined);
  }
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
