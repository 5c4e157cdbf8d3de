import { IDEMPOTENCY_KEY_MAX_LENGTH, RESERVED_KEY_PREFIX, type CreateJob } from '@millrace/contract';
import type { FastifyRequest } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { characterCount, isStorableText } from '../../domain/text.js';
import { headerText } from './headers.js';

const HEADER = 'Idempotency-Key';
const FIELD = 'idempotency_key';

/**
 * The client's idempotency key, or null. The header is never a list: one that is given twice was refused before.
 * `given` is the key in the body, where the request has a field for it.
 */
export function idempotencyKey({ headers }: FastifyRequest, given?: string | null): string | null {
  const header = headers['idempotency-key'];
  if (header === undefined && typeof given !== 'string') return null;
  const fromHeader = keyOf(HEADER, headerText(HEADER, String(header ?? '')));
  if (typeof given !== 'string') return fromHeader;
  const fromBody = keyOf(FIELD, given);
  if (fromHeader !== null && fromBody !== null && fromHeader !== fromBody) {
    throw invalidField(FIELD, `must equal the header ${HEADER} if both are given`);
  }
  return fromHeader ?? fromBody;
}

/** The keys of a batch's items, which stand instead of one for all of it; null: no item has one. */
export function itemKeys(request: FastifyRequest, jobs: readonly CreateJob[]): (string | null)[] | null {
  if (!jobs.some(({ idempotency_key: key }) => typeof key === 'string')) return null;
  const keys = jobs.map(({ idempotency_key: key }, n) =>
    typeof key === 'string' ? keyOf(`jobs[${n}].${FIELD}`, key) : null,
  );
  const keyed = keys.findIndex((key) => key !== null);
  if (keyed < 0) return null;
  if (idempotencyKey(request) !== null)
    throw invalidField(`jobs[${keyed}].${FIELD}`, `must not be given together with the header ${HEADER}`);
  return keys;
}

function keyOf(name: string, text: string): string | null {
  const key = text.trim();
  if (key === '') return null;
  if (!isStorableText(key)) throw invalidField(name, 'must not contain NUL characters or lone surrogates');
  if (characterCount(key) > IDEMPOTENCY_KEY_MAX_LENGTH) {
    throw invalidField(name, `must have at most ${IDEMPOTENCY_KEY_MAX_LENGTH} characters`);
  }
  if (key.startsWith(RESERVED_KEY_PREFIX)) throw invalidField(name, `must not begin with ${RESERVED_KEY_PREFIX}`);
  return key;
}
