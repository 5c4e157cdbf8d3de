import { isLongerThan } from '@millrace/sdk/rules';
import { payloadTooLarge } from '../../domain/errors.js';
import type { TraceContext } from '../../telemetry/trace-context.js';

/** The default and the limit that apply to requests. */
export interface InputSettings {
  readonly defaultQueue: string;
  readonly maxPayloadBytes: number;
  /** Whether the server runs in development mode (dev-policy.ts). */
  readonly dev?: boolean;
  /** The trace that jobs without one of their own carry on; absent or null: none. */
  readonly trace?: TraceContext | null;
}

/**
 * JSON that belongs to the caller, within its limit: its text as it was sent, or `absent` if the request has none.
 * `value` is the parsed field, needed because null counts as absent; `path` says where the field is in the request.
 */
export function callerText<Absent>(
  value: unknown,
  text: string | undefined,
  absent: Absent,
  path: string,
  { maxPayloadBytes }: Pick<InputSettings, 'maxPayloadBytes'>,
): string | Absent {
  if (!value || text === undefined) return absent;
  if (isLongerThan(maxPayloadBytes, text)) throw payloadTooLarge(path, maxPayloadBytes);
  return text;
}
