import { describe, expect, it, vi, beforeEach } from 'vitest';
import { Millrace, NotFoundError, silentLogger, task } from '../../src/index.js';

type Stream = string[] | 'no answer' | { status: number };

const job = (status: string, more: object = {}): object => ({
  ...{ id: 'x', status, workflow_id: null, metadata: {}, progress: null, delivery_count: 1 },
  ...{ created_at: '2026-01-01T00:00:00Z', scheduled_at: '2026-01-01T00:00:00Z' },
  ...more,
});
const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** A server whose streams are given, one per connection; the last one stays open after what it has sent. */
function streaming(streams: Stream[]) {
  const seen = { connections: 0, cancelled: 0 };
  const fetch = (async (_url, init) => {
    const stream = streams[Math.min(seen.connections++, streams.length - 1)]!;
    if (stream === 'no answer') throw new TypeError('fetch failed');
    if (!Array.isArray(stream)) return new Response('{"error":"no","code":"not_found"}', stream);
    const last = seen.connections >= streams.length;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of stream) controller.enqueue(new TextEncoder().encode(chunk));
        if (!last) controller.close();
        init?.signal?.addEventListener('abort', () => {
          seen.cancelled++;
          controller.error(init.signal?.reason);
        });
      },
      cancel: () => void seen.cancelled++,
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }) as typeof globalThis.fetch;
  const millrace = new Millrace({ fetch, logger: silentLogger });
  return { handle: millrace.jobs.handle(task({ name: 't' }), 'x'), seen };
}

async function states(iterable: AsyncIterable<{ status: string; progress: unknown }>): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const state of iterable) found.push(state.progress ?? state.status);
  return found;
}

beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));

describe('watching a job', () => {
  it('goes on after streams that end, break or do not open, and repeats nothing', async () => {
    const { handle, seen } = streaming([
      [event('status', job('pending'))],
      'no answer',
      { status: 503 },
      [event('status', job('pending')), event('status', job('running'))],
      [event('status', job('running')), event('status', job('completed'))],
    ]);
    expect(await states(handle.watch())).toEqual(['pending', 'running', 'completed']);
    expect(seen.connections).toBe(5);
  });

  it('reads events however they are cut, and skips comments', async () => {
    const text = `: hello\n\n${event('status', job('running', { metadata: { emoji: '🌊' } }))}: ping\n\n`;
    const end = event('status', job('completed')).replaceAll('\n', '\r\n');
    const pieces = [...(text + end)].map(String);
    const { handle } = streaming([pieces]);
    expect(await states(handle.watch())).toEqual(['running', 'completed']);
  });

  it('shows progress between the states', async () => {
    const progress = { progress: 'a field of that name' };
    const { handle } = streaming([
      [event('status', job('running')), event('progress', progress), event('status', job('completed'))],
    ]);
    expect(await states(handle.watch())).toEqual(['running', progress, 'completed']);
  });

  it('hangs up when the loop is left', async () => {
    const { handle, seen } = streaming([[event('status', job('running'))]]);
    for await (const state of handle.watch()) if (state.status === 'running') break;
    await expect.poll(() => seen.cancelled).toBeGreaterThan(0);
    expect(seen.connections).toBe(1);
  });

  it('ends quietly with the signal', async () => {
    const { handle, seen } = streaming([[event('status', job('running'))]]);
    const controller = new AbortController();
    const states: string[] = [];
    for await (const { status } of handle.watch({ signal: controller.signal })) {
      states.push(status);
      controller.abort('enough');
    }
    expect(states).toEqual(['running']);
    expect(seen.connections).toBe(1);
  });

  it('that does not exist ends at once', async () => {
    const { handle } = streaming([{ status: 404 }]);
    await expect(states(handle.watch())).rejects.toBeInstanceOf(NotFoundError);
  });
});
