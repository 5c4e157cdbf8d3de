import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { COUNTED_BYTES } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';
import { cutWhenUnread } from './unread.js';

/**
 * Server-sent events over a reply that was taken out of the framework's hands. One state is asked for at a time, and
 * the next only when the client has taken the one before: a slow reader never makes the server hoard, and one that
 * takes nothing is cut off. Whoever is cut off connects again, and starts from the state of that moment.
 */

export const MAX_STREAM_MS = 15 * 60_000;
const KEEP_ALIVE_MS = 15_000;
/** A client that stopped reading would hold up the end of its stream; after this long it is cut off. */
const FAREWELL_MS = 1_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Asks proxies of the nginx family not to sit on events.
  'x-accel-buffering': 'no',
};

export interface EventSource<T> {
  readonly states: AsyncIterable<T>;
  readonly signal: AbortSignal;
  readonly format: (state: T) => string;
}

/** Like the response's own: false when the client must take something first. */
type Write = (text: string) => boolean;

/**
 * Ends when the states do or when `signal` fires. If it throws, the stream is left open for the caller to break off.
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

/** A large event that finds no room is not sent: the stream is cut off instead. */
function writeCounted(raw: ServerResponse, text: string, owner: string, { answers, metrics }: HttpContext): boolean {
  if (text.length < COUNTED_BYTES) return raw.write(text);
  const event = Buffer.from(text);
  const hold = answers.tryHold(owner, event.length);
  if (hold === null) {
    metrics.requestsShed.inc({ load: 'answer' });
    raw.destroy();
    return false;
  }
  raw.once('close', () => hold.release());
  return raw.write(event, () => hold.release());
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

/** What the promise brings, or null as soon as the signal fires; the promise is then left to itself. */
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
