import { MillraceError } from '../errors/call-errors.js';
import { pause } from '../http/deadline.js';
import { readEvents, type ServerEvent } from '../http/event-stream.js';
import { isRepeated, retryDelayMs } from '../http/retry.js';
import type { Transport } from '../http/transport.js';

/** What one event of a stream means: something new to yield, perhaps the last of it; or nothing. */
export interface Seen<T> {
  readonly state: T;
  readonly last: boolean;
  /** Two states with the same text are the same state. */
  readonly text: string;
}

/**
 * Follows a stream of server-sent events until its last one, connecting again as often as needed: streams end after 15
 * minutes, servers restart, connections break. Every stream begins with the current state, which is yielded only if it
 * is news. It ends without an error when the signal aborts: whoever was watching has left.
 */
export async function* watch<T>(
  transport: Transport,
  path: string,
  read: (event: ServerEvent) => Seen<T> | null,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });
  let before = '';
  try {
    for (let failed = 0; ; failed++) {
      try {
        for await (const event of readEvents(await transport.open(path, controller.signal))) {
          const seen = read(event);
          if (seen === null) continue;
          failed = 0;
          if (seen.text !== before) yield seen.state;
          before = seen.text;
          if (seen.last) return;
        }
      } catch (error) {
        if (signal?.aborted === true) return;
        if (error instanceof MillraceError && error.status !== null && !isRepeated(error.status)) throw error;
      }
      await pause(retryDelayMs(failed + 1, null), controller.signal);
      if (signal?.aborted === true) return;
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    controller.abort();
  }
}
