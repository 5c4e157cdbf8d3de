import { payloadTooLarge } from '../../domain/errors.js';

/** What requests are completed with and bounded by. */
export interface InputSettings {
  readonly defaultQueue: string;
  readonly maxPayloadBytes: number;
}

/**
 * JSON that belongs to the caller, within its limit: its text as it was sent, or `absent` where the request has none.
 * `value` is the parsed field, since null counts as absent; `path` leads to it within the request.
 */
export function callerText<Absent>(
  value: unknown,
  text: string | undefined,
  absent: Absent,
  path: string,
  { maxPayloadBytes }: Pick<InputSettings, 'maxPayloadBytes'>,
): string | Absent {
  if (!value || text === undefined) return absent;
  if (isLonger(text, maxPayloadBytes)) throw payloadTooLarge(path, maxPayloadBytes);
  return text;
}

/** In bytes of UTF-8, of which a UTF-16 unit takes one to three: most texts need no count. */
const isLonger = (text: string, bytes: number): boolean =>
  text.length > bytes || (3 * text.length > bytes && Buffer.byteLength(text) > bytes);
