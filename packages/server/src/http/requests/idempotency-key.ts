import type { CreateJob } from '@millrace/contract';
import { KEY_FIELD, KEY_HEADER, keyOf, keyOfRequest } from '@millrace/sdk/rules';
import type { FastifyRequest } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { headerText } from '../access/header-text.js';

/**
 * The client's idempotency key, or null. The header is never a list: one that is given twice was refused before.
 * `given` is the key in the body, where the request has a field for it.
 */
export function idempotencyKey({ headers }: FastifyRequest, given?: string | null): string | null {
  const header = headers['idempotency-key'];
  if (header === undefined && typeof given !== 'string') return null;
  return keyOfRequest(headerText(KEY_HEADER, String(header ?? '')), given ?? null, invalidField);
}

/** The keys of a batch's items, which stand instead of one for all of it; null: no item has one. */
export function itemKeys(request: FastifyRequest, jobs: readonly CreateJob[]): (string | null)[] | null {
  if (!jobs.some(({ idempotency_key: key }) => typeof key === 'string')) return null;
  const keys = jobs.map(({ idempotency_key: key }, n) =>
    typeof key === 'string' ? keyOf(key, `jobs[${n}].${KEY_FIELD}`, invalidField) : null,
  );
  const keyed = keys.findIndex((key) => key !== null);
  if (keyed < 0) return null;
  if (idempotencyKey(request) !== null)
    throw invalidField(`jobs[${keyed}].${KEY_FIELD}`, `must not be given together with the header ${KEY_HEADER}`);
  return keys;
}
