import { createHash } from 'node:crypto';
import type { JobSpec } from '../../domain/records.js';

/**
 * What a keyed create asks for, as 64 bits, so that a repeat under the same key can be told that it asks for something
 * else. Only requests with a key pay for it.
 */
export const digestOf = (...texts: readonly string[]): bigint => {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(text);
  return hash.digest().readBigInt64BE(0);
};

/**
 * Of one job, however it is sent: alone, or in a batch. `metadata` is what the caller sent of it: what the service
 * adds, such as its place in a trace, differs from one repeat to the next.
 */
export function jobDigest({ task, queue, config, runAt, delaySecs, payload }: JobSpec, metadata?: string): bigint {
  return digestOf(JSON.stringify([task, queue, config, runAt, delaySecs, payload.length, metadata ?? null]), payload);
}
