import { hash } from 'node:crypto';
import type { JobConfig } from '@millrace/contract';

/** Those asked for of late: a hash takes longer than all that is done with it. Of many, the oldest are forgotten. */
const known = new Map<string, string>();
const MOST_KNOWN = 10_000;

/** The id of a key: lengths come first, so that no two triples have the same text. */
export function limitId(tenant: string, queue: string, key: string): string {
  const text = `${tenant.length}:${tenant}${queue.length}:${queue}${key}`;
  let id = known.get(text);
  if (id !== undefined) return id;
  id = hashed(`${Buffer.byteLength(tenant)}:${tenant}${Buffer.byteLength(queue)}:${queue}${key}`);
  if (known.size === MOST_KNOWN) known.delete(known.keys().next().value!);
  known.set(text, id);
  return id;
}

function hashed(text: string): string {
  const hex = hash('sha256', text);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}

/** The ids of the limits that a job names, in its order; null if it names none. */
export function limitIdsOf(tenant: string, queue: string, config: JobConfig | null): readonly string[] | null {
  const limits = config?.limits;
  return limits === undefined ? null : limits.map(({ key }) => limitId(tenant, queue, key));
}

/** The ids of those that have a rate. */
export const ratedIdsOf = (tenant: string, queue: string, { limits = [] }: JobConfig): string[] =>
  limits.flatMap(({ key, rate }) => (rate ? [limitId(tenant, queue, key)] : []));
