import { IDEMPOTENCY_KEY_MAX_LENGTH, RESERVED_KEY_PREFIX } from './limits.js';
import { NOT_STORABLE, type Refuse } from './refusal.js';
import { characterCount, isStorableText } from './text.js';

export const KEY_HEADER = 'Idempotency-Key';
export const KEY_FIELD = 'idempotency_key';

/** Nearly every key: nothing to trim, to count or to refuse. */
const PLAIN = /^(?!millrace:)[!-~]{1,255}$/;

/** The key in a text, or null if it is blank. `path` says where it was found. */
export function keyOf(text: string, path: string, refuse: Refuse): string | null {
  if (PLAIN.test(text)) return text;
  const key = text.trim();
  if (key === '') return null;
  if (!isStorableText(key)) throw refuse(path, NOT_STORABLE);
  if (characterCount(key) > IDEMPOTENCY_KEY_MAX_LENGTH)
    throw refuse(path, `must have at most ${IDEMPOTENCY_KEY_MAX_LENGTH} characters`);
  if (key.startsWith(RESERVED_KEY_PREFIX)) throw refuse(path, `must not begin with ${RESERVED_KEY_PREFIX}`);
  return key;
}

/** The key of a request that may have one in its header, in its body, or in both. */
export function keyOfRequest(header: string | null, given: string | null, refuse: Refuse): string | null {
  const fromHeader = keyOf(header ?? '', KEY_HEADER, refuse);
  const fromBody = keyOf(given ?? '', KEY_FIELD, refuse);
  if (fromHeader !== null && fromBody !== null && fromHeader !== fromBody)
    throw refuse(KEY_FIELD, `must equal the header ${KEY_HEADER} if both are given`);
  return fromHeader ?? fromBody;
}
