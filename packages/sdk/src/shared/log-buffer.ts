import { isObject, type JsonObject } from '../json/object.js';
import {
  LOG_ATTEMPT_BYTES,
  LOG_FIELDS_MAX_BYTES,
  LOG_LINE_BYTES,
  LOG_LINES_PER_CALL,
  LOG_MESSAGE_MAX_BYTES,
} from '../rules/limits.js';
import { isLongerThan } from '../rules/text.js';
import type { Logger } from './logger.js';

/** What a handler wrote, as it is sent. */
export interface BufferedLine {
  at: string;
  level: keyof Logger;
  message: string;
  fields?: JsonObject;
}

interface Sized {
  readonly line: BufferedLine;
  readonly size: number;
}

const HALF = LOG_ATTEMPT_BYTES / 2;
const HALF_LINES = LOG_LINES_PER_CALL / 2;

/**
 * What an attempt wrote and has not sent yet: as much as one call may bring, however much is written. The first and the
 * last lines stay, and a line says how many were left out between them.
 */
export class LogBuffer {
  #head: Sized[] = [];
  #tail: Sized[] = [];
  #headSize = 0;
  #tailSize = 0;
  #leftOut = 0;

  get isEmpty(): boolean {
    return this.#head.length === 0;
  }

  get size(): number {
    return this.#headSize + this.#tailSize;
  }

  write(level: keyof Logger, message: unknown, fields?: JsonObject): void {
    this.#add(sized(level, message, fields));
  }

  /** All of it, in order. */
  take(): BufferedLine[] {
    const missing = this.#leftOut > 0 ? [sized('warn', leftOut(this.#leftOut))] : [];
    const lines = [...this.#head, ...missing, ...this.#tail].map(({ line }) => line);
    [this.#head, this.#tail, this.#headSize, this.#tailSize, this.#leftOut] = [[], [], 0, 0, 0];
    return lines;
  }

  /** Of a call that was not answered: they go before what was written since. */
  putBack(lines: readonly BufferedLine[]): void {
    const later = this.take();
    for (const line of [...lines, ...later]) this.#add({ line, size: sizeOf(line) });
  }

  #add(added: Sized): void {
    const isFirst = this.#tail.length === 0 && this.#leftOut === 0;
    if (isFirst && this.#head.length < HALF_LINES && this.#headSize + added.size <= HALF) {
      this.#head.push(added);
      this.#headSize += added.size;
      return;
    }
    this.#tail.push(added);
    this.#tailSize += added.size;
    // One of the lines of a call may be needed to say what is missing.
    while (this.#tail.length >= HALF_LINES || this.#tailSize > HALF) {
      this.#tailSize -= this.#tail.shift()!.size;
      this.#leftOut++;
    }
  }
}

const leftOut = (count: number): string => `${count} ${count === 1 ? 'line was' : 'lines were'} left out here`;

function sized(level: keyof Logger, said: unknown, fields?: JsonObject): Sized {
  // One more than the server keeps, so that it says that it was cut.
  const message = (typeof said === 'string' ? said : String(said)).slice(0, LOG_MESSAGE_MAX_BYTES + 1);
  const kept = fields === undefined ? undefined : snapshotOf(fields);
  const line = { at: new Date().toISOString(), level, message, ...(kept !== undefined && { fields: kept }) };
  return { line, size: sizeOf(line) };
}

const sizeOf = ({ message, fields }: BufferedLine): number =>
  LOG_LINE_BYTES + message.length + (fields === undefined ? 0 : JSON.stringify(fields).length);

/** As the fields are now: the handler may change them. */
function snapshotOf(fields: JsonObject): JsonObject | undefined {
  let text: string;
  try {
    text = JSON.stringify(isObject(fields) ? fields : { value: fields });
  } catch (error) {
    text = JSON.stringify({ cut: `not JSON: ${String(error)}` });
  }
  if (!text.startsWith('{') || text === '{}') return undefined;
  for (let most = LOG_FIELDS_MAX_BYTES, cut = text; ; most /= 2) {
    if (!isLongerThan(LOG_FIELDS_MAX_BYTES, cut)) return JSON.parse(cut) as JsonObject;
    cut = JSON.stringify({ cut: text.slice(0, most - 16) });
  }
}
