import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { COUNTED_BYTES, type AnswerHold } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';

/**
 * What is sent of a state. Those who follow the same thing are given the same object, so it is made once, and counts
 * once however many have not read it yet.
 */
export interface SharedEvent {
  readonly text: string | Buffer;
  hold: AnswerHold | null;
  holders: number;
}

const events = new WeakMap<object, SharedEvent>();

export function eventOf<T extends object>(state: T, format: (state: T) => string): SharedEvent {
  let event = events.get(state);
  if (event === undefined) {
    const formatted = format(state);
    const text = formatted.length < COUNTED_BYTES ? formatted : Buffer.from(formatted);
    events.set(state, (event = { text, hold: null, holders: 0 }));
  }
  return event;
}

/**
 * Handing bytes to the operating system copies them, which takes as long as it takes. A large event goes in pieces, one
 * of one stream per turn of the event loop: a thousand streams that show the same four megabytes would otherwise be
 * served in one go, and everybody else after seconds.
 */
const PIECE_BYTES = 256 * 1024;

/** Writes the events of one stream, one after the other. */
export class EventWriter {
  #isSending = false;

  constructor(
    private readonly raw: ServerResponse,
    private readonly owner: string,
    private readonly signal: AbortSignal,
    private readonly context: HttpContext,
  ) {}

  /** A comment, between two events, and only if the client reads. */
  keepAlive(): void {
    if (!this.#isSending && !this.raw.writableNeedDrain) this.raw.write(': keep-alive\n\n');
  }

  /** Resolves once the client may be sent the next one. */
  async send(event: SharedEvent): Promise<void> {
    const { text } = event;
    this.#isSending = true;
    if (typeof text === 'string') await this.#write(text);
    else await this.#sendLarge(event, text);
    this.#isSending = false;
  }

  /** A large event that there is no room for is not sent: the stream is cut off instead. */
  async #sendLarge(event: SharedEvent, bytes: Buffer): Promise<void> {
    const { answers, metrics, sending } = this.context;
    event.hold ??= answers.tryHold(this.owner, bytes.length);
    if (event.hold === null) {
      metrics.requestsShed.inc({ load: 'answer' });
      this.raw.destroy();
      return;
    }
    event.holders += 1;
    const release = (): void => {
      event.holders -= 1;
      if (event.holders > 0) return;
      event.hold?.release();
      event.hold = null;
    };
    this.raw.once('close', release);
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      await sending.next();
      if (this.signal.aborted || this.raw.destroyed) return;
      await this.#write(bytes.subarray(at, at + PIECE_BYTES));
    }
    this.raw.off('close', release);
    release();
  }

  async #write(text: string | Buffer): Promise<void> {
    if (!this.raw.write(text)) await once(this.raw, 'drain');
  }
}
