import { describe, expect, it } from 'vitest';
import { readEvents, type ServerEvent } from '../../src/http/event-stream.js';

const encoder = new TextEncoder();

/** The events of a stream that arrives in these chunks. */
async function eventsOf(...chunks: readonly (string | Uint8Array)[]): Promise<ServerEvent[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
      controller.close();
    },
  });
  const events: ServerEvent[] = [];
  for await (const event of readEvents(new Response(body))) events.push(event);
  return events;
}

describe('server-sent events', () => {
  it('end lines with CR LF, LF or CR, also when a chunk ends between CR and LF', async () => {
    const expected = [
      { event: 'status', data: 'a\nb' },
      { event: 'message', data: 'c' },
    ];
    for (const end of ['\n', '\r\n', '\r']) {
      const text = ['event: status', 'data: a', 'data:b', '', 'data: c', '', ''].join(end);
      expect(await eventsOf(text)).toEqual(expected);
      expect(await eventsOf(...text)).toEqual(expected);
    }
  });

  it.each(['\u2028', '\u2029', '\u0085', '\u000b', '\u000c'])('keep %j as a part of their data', async (separator) => {
    const data = JSON.stringify({ text: `before${separator}after` });
    expect(await eventsOf(`event: status\ndata: ${data}\n\n`)).toEqual([{ event: 'status', data }]);
  });

  it('drop comments, ids and what the end of the stream cuts off', async () => {
    expect(await eventsOf(': hello\n\nid: 1\nretry: 5\n\ndata\ndata: x:y\n\ndata: cut')).toEqual([
      { event: 'message', data: '\nx:y' },
    ]);
  });

  it('may be cut within a character', async () => {
    const bytes = encoder.encode('data: é😀\n\n');
    expect(await eventsOf(...[...bytes].map((byte) => Uint8Array.of(byte)))).toEqual([
      { event: 'message', data: 'é😀' },
    ]);
  });

  it('of four megabytes in a thousand chunks are read', async () => {
    const part = 'x'.repeat(4096);
    const [event, ...more] = await eventsOf('data: ', ...Array.from({ length: 1024 }, () => part), '\n\n');
    expect(event!.data.length).toBe(4 * 1024 * 1024);
    expect(more).toEqual([]);
  });
});
