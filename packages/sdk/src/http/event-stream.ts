/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/** An event larger than this ends the stream with an error: the service's own are bounded far below. */
const MOST_CHARACTERS = 64 * 1024 * 1024;

/**
 * Reads server-sent events from an answer, by the rules of the HTML standard. Comments, ids and retry times are
 * dropped; the service sends none that matter. Ends with the stream; throws if the connection breaks.
 */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent, void, undefined> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const lines = new LineSplitter();
  const building = new EventBuilder();
  try {
    for (;;) {
      const chunk = (await reader.read()) as { done: boolean; value?: Uint8Array };
      if (chunk.done) return;
      for (const line of lines.split(decoder.decode(chunk.value, { stream: true }))) {
        const event = building.add(line);
        if (event !== null) yield event;
      }
      if (lines.held + building.held > MOST_CHARACTERS) throw new Error('a server-sent event is too large');
    }
  } finally {
    // A caller that stops reading early closes the connection; a broken one needs no closing.
    await reader.cancel().catch(() => undefined);
  }
}

/**
 * Cuts chunks into lines that end with CR LF, LF or CR, and with nothing else. The beginning of a line is kept in
 * pieces and never looked at again: a large event that comes in many chunks would otherwise be scanned once per chunk.
 */
class LineSplitter {
  #pieces: string[] = [];
  /** The last chunk ended with CR, so that a LF at the start of the next one belongs to the same line end. */
  #endedWithReturn = false;
  held = 0;

  *split(chunk: string): Generator<string, void, undefined> {
    if (chunk === '') return;
    let start = this.#endedWithReturn && chunk.startsWith('\n') ? 1 : 0;
    this.#endedWithReturn = chunk.endsWith('\r');
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = start;
    for (let end = ends.exec(chunk); end !== null; end = ends.exec(chunk)) {
      const line = this.#pieces.join('') + chunk.slice(start, end.index);
      this.#pieces = [];
      this.held = 0;
      start = ends.lastIndex;
      yield line;
    }
    if (start === chunk.length) return;
    this.#pieces.push(chunk.slice(start));
    this.held += chunk.length - start;
  }
}

/** Gathers the fields of an event until an empty line ends it. */
class EventBuilder {
  #event = 'message';
  #data: string[] = [];
  held = 0;

  /** The event that this line ends, if it does. */
  add(line: string): ServerEvent | null {
    if (line === '') return this.#end();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + (line.startsWith(' ', colon + 1) ? 2 : 1));
    if (field === 'event') this.#event = value;
    if (field === 'data') {
      this.#data.push(value);
      this.held += value.length;
    }
    return null;
  }

  #end(): ServerEvent | null {
    const ended = this.#data.length === 0 ? null : { event: this.#event, data: this.#data.join('\n') };
    this.#event = 'message';
    this.#data = [];
    this.held = 0;
    return ended;
  }
}
