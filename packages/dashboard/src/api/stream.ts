import { useEffect, useRef } from 'react';
import { ApiError, send } from './client.js';

/** One server-sent event, its data as text. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
}

/** `live`: events arrive. `polling`: the stream is cut or closed, and whoever shows the thing polls instead. */
export type StreamState = 'connecting' | 'live' | 'polling' | 'ended';

/** How long to wait before a stream that was cut is opened again; grows to the last of them. */
const REOPEN_MS = [1000, 2000, 5000, 10_000];

/**
 * Follows an event stream by `fetch`, because a browser's EventSource sends no Authorization header. The stream is
 * closed while the page is hidden: a browser allows six connections to a server, over all of its tabs. The state of the
 * stream is kept by the caller, who polls by it and may end the stream by what was polled.
 */
export function useStream(
  path: string | null,
  setState: (state: StreamState) => void,
  onEvent: (event: StreamEvent) => void,
): void {
  const handler = useRef(onEvent);
  useEffect(() => {
    handler.current = onEvent;
  });
  useEffect(() => {
    if (path === null) {
      setState('ended');
      return undefined;
    }
    return followWhileVisible(path, setState, (event) => handler.current(event));
  }, [path, setState]);
}

function followWhileVisible(
  path: string,
  setState: (state: StreamState) => void,
  onEvent: (event: StreamEvent) => void,
): () => void {
  let open: AbortController | null = null;
  let timer: number | undefined;
  let failures = 0;
  const close = (): void => {
    window.clearTimeout(timer);
    open?.abort();
    open = null;
  };
  const run = async (controller: AbortController): Promise<void> => {
    try {
      setState('connecting');
      const response = await send('GET', path, { signal: controller.signal, headers: { Accept: 'text/event-stream' } });
      setState('live');
      failures = 0;
      for await (const event of eventsOf(response)) onEvent(event);
      // The server closes the stream when the thing has ended; a cut in between looks the same, so look once more.
      if (!controller.signal.aborted) again();
    } catch (error) {
      if (controller.signal.aborted) return;
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) setState('polling');
      else again();
    }
  };
  const start = (): void => {
    open = new AbortController();
    void run(open);
  };
  const again = (): void => {
    setState('polling');
    timer = window.setTimeout(start, REOPEN_MS[Math.min(failures++, REOPEN_MS.length - 1)]);
  };
  const onVisibility = (): void => {
    if (document.hidden) close();
    else if (open === null) start();
  };
  document.addEventListener('visibilitychange', onVisibility);
  if (!document.hidden) start();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close();
  };
}

/** Splits the body into events. Comments keep the connection alive and are skipped. */
async function* eventsOf(response: Response): AsyncGenerator<StreamEvent> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    let end = buffer.indexOf('\n\n');
    while (end >= 0) {
      const parsed = parseEvent(buffer.slice(0, end));
      buffer = buffer.slice(end + 2);
      if (parsed !== null) yield parsed;
      end = buffer.indexOf('\n\n');
    }
  }
}

export function parseEvent(block: string): StreamEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
  }
  return data.length === 0 ? null : { event, data: data.join('\n') };
}
