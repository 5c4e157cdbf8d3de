import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { COUNTED_BYTES, type AnswerHold } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';
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
  { states, signal, format }: EventSource<T>,
): Promise<void> {
  const { raw } = reply;
  const write = (state: T): boolean => writeShared(raw, eventOf(state, format), request.tenant, context);
  raw.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
  // Otherwise the client would not learn that the stream is open until the first event.
  raw.flushHeaders();
  cutWhenUnread(raw, context);
  const keepAlive = setInterval(() => {
    if (!raw.writableNeedDrain) raw.write(': keep-alive\n\n');
  }, KEEP_ALIVE_MS);
  try {
    await pump(raw, write, states[Symbol.asyncIterator](), signal);
  } finally {
    clearInterval(keepAlive);
  }
  endOrCut(raw);
}

/**
 * What is sent of a state. Those who follow the same thing are given the same object, so it is made once, and counts
 * once however many have not read it yet.
 */
interface SharedEvent {
  readonly text: string | Buffer;
  readonly bytes: number;
  hold: AnswerHold | null;
  holders: number;
}

const events = new WeakMap<object, SharedEvent>();

function eventOf<T extends object>(state: T, format: (state: T) => string): SharedEvent {
  let event = events.get(state);
  if (event === undefined) {
    const formatted = format(state);
    const text = formatted.length < COUNTED_BYTES ? formatted : Buffer.from(formatted);
    events.set(state, (event = { text, bytes: text.length, hold: null, holders: 0 }));
  }
  return event;
}

/** A large event that there is no room for is not sent: the stream is cut off instead. */
function writeShared(
  raw: ServerResponse,
  event: SharedEvent,
  owner: string,
  { answers, metrics }: HttpContext,
): boolean {
  const { text, bytes } = event;
  if (typeof text === 'string') return raw.write(text);
  event.hold ??= answers.tryHold(owner, bytes);
  if (event.hold === null) {
    metrics.requestsShed.inc({ load: 'answer' });
    raw.destroy();
    return false;
  }
  event.holders += 1;
  let isHolder = true;
  const release = (): void => {
    raw.off('close', release);
    if (isHolder) event.holders -= 1;
    isHolder = false;
    if (event.holders > 0) return;
    event.hold?.release();
    event.hold = null;
  };
  raw.once('close', release);
  return raw.write(text, release);
}

async function pump<T>(
  raw: ServerResponse,
  write: (state: T) => boolean,
  states: AsyncIterator<T>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      const sent = await unlessAborted(sendNext(write, states, signal), signal);
      if (sent === null || sent === 'end') return;
      if (sent === 'full') await unlessAborted(once(raw, 'drain'), signal);
    }
  } finally {
    // Not awaited: an iterator in the middle of a wait returns only when that wait is over.
    states.return?.()?.catch(() => undefined);
  }
}

/** On its own, so that nothing holds the state while the client takes it and the next one is waited for. */
async function sendNext<T>(
  write: (state: T) => boolean,
  states: AsyncIterator<T>,
  signal: AbortSignal,
): Promise<'end' | 'full' | 'more'> {
  const next = await states.next();
  if (next.done === true || signal.aborted) return 'end';
  return write(next.value) ? 'more' : 'full';
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
