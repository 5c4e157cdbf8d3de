import {
  LOG_ATTEMPT_BYTES,
  LOG_FIELDS_MAX_BYTES,
  LOG_LINE_BYTES,
  LOG_MESSAGE_MAX_BYTES,
  type LogLevel,
} from '@millrace/contract';
import type { JsonText } from './records.js';
import { cleanText } from './text.js';

/** What handlers write, made to fit: a line is cut, never refused, and of many the first and the last ones stay. */

export interface LogLine {
  readonly at: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: JsonText | null;
  /** What it counts for. */
  readonly bytes: number;
}

/** A line with its place among those that came with it. */
export interface PlacedLine extends LogLine {
  readonly place: number;
  /** How many bytes came before it. */
  readonly offset: number;
}

/** `fields`: JSON of an object, as it was sent. */
export function logLine(at: string, level: LogLevel, said: string, fields: JsonText | null): LogLine {
  const message = cutText(said, LOG_MESSAGE_MAX_BYTES);
  const kept = fields === null ? null : cutFields(fields);
  const bytes = LOG_LINE_BYTES + Buffer.byteLength(message) + (kept === null ? 0 : Buffer.byteLength(kept));
  return { at, level, message, fields: kept, bytes };
}

/** What stands in the place of lines that were left out before they came here. */
export const leftOut = (at: string, count: number): LogLine =>
  logLine(at, 'warn', `${count} more ${count === 1 ? 'line was' : 'lines were'} left out here`, null);

/** Those of one call that could be kept, and how much all of them count for. */
export function keepable(lines: readonly LogLine[]): { readonly lines: readonly PlacedLine[]; readonly bytes: number } {
  let bytes = 0;
  const placed = lines.map((line, place) => {
    const offset = bytes;
    bytes += line.bytes;
    return { ...line, place, offset };
  });
  const half = LOG_ATTEMPT_BYTES / 2;
  const isKept = (line: PlacedLine): boolean => line.offset + line.bytes <= half || line.offset >= bytes - half;
  return { lines: bytes <= LOG_ATTEMPT_BYTES ? placed : placed.filter(isKept), bytes };
}

const CUT = ' … (cut)';

/** Storable, and at most `maxBytes` of UTF-8; says so if it was cut. */
function cutText(text: string, maxBytes: number): string {
  const clean = cleanText(text, maxBytes);
  if (clean.length === text.length && Buffer.byteLength(clean) <= maxBytes) return clean;
  return `${beginning(clean, maxBytes - Buffer.byteLength(CUT))}${CUT}`;
}

/** The text of fields that are too long, as one field. */
function cutFields(fields: JsonText): JsonText {
  if (Buffer.byteLength(fields) <= LOG_FIELDS_MAX_BYTES) return fields;
  // Quotes and backslashes take two bytes in JSON, control characters six.
  for (let most = LOG_FIELDS_MAX_BYTES - 16; ; most = Math.floor(most / 2)) {
    const text = JSON.stringify({ cut: beginning(cleanText(fields, most), most) });
    if (Buffer.byteLength(text) <= LOG_FIELDS_MAX_BYTES) return text;
  }
}

/** As many whole characters as fit. */
function beginning(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
