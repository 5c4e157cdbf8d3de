/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** An event larger than this ends the stream with an error: the service's own are bounded far below. */
const MOST_CHARACTERS = 64 * 1024 * 1024;

/**
 * Reads server-sent events from an answer. Comments, ids and retry times are dropped; the service sends none that
 * matter. Ends with the stream; throws if the connection breaks.
 */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const chunk = (await reader.read()) as { done: boolean; value?: Uint8Array };
      if (chunk.done) return;
      rest += decoder.decode(chunk.value, { stream: true });
      if (rest.length > MOST_CHARACTERS) throw new Error('a server-sent event is too large');
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event !== null) yield event;
      }
    }
  } finally {
    // A caller that stops reading early closes the connection; a broken one needs no closing.
    await reader.cancel().catch(() => undefined);
  }
}

function parseBlock(block: string): ServerEvent | null {
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === 'event') event = value ?? '';
    if (field === 'data') data.push(value ?? '');
  }
  return data.length === 0 ? null : { event, data: data.join('\n') };
}
