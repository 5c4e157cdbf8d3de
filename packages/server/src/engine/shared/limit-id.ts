import { hash } from 'node:crypto';
import type { JobConfig } from '@millrace/contract';

/**
 * The ids asked for of late, by queue and key: a hash takes longer than all that is done with it, and whoever asks for
 * one mostly asks for others of the same queue. If there are too many, all are forgotten.
 */
const known = new Map<string, Map<string, string>>();
const MOST_KNOWN = 10_000;
let count = 0;
let last = { tenant: '', queue: '', ids: new Map<string, string>() };

/** The id of a key: lengths come first, so that no two triples have the same text. */
export function limitId(tenant: string, queue: string, key: string): string {
  if (last.tenant !== tenant || last.queue !== queue) last = { tenant, queue, ids: knownOf(tenant, queue) };
  let id = last.ids.get(key);
  if (id !== undefined) return id;
  if (count === MOST_KNOWN) forgetAll();
  id = hashed(`${Buffer.byteLength(tenant)}:${tenant}${Buffer.byteLength(queue)}:${queue}${key}`);
  last.ids.set(key, id);
  count++;
  return id;
}

function knownOf(tenant: string, queue: string): Map<string, string> {
  const name = `${tenant.length}:${tenant}${queue}`;
  let ids = known.get(name);
  if (ids === undefined) {
    ids = new Map();
    known.set(name, ids);
  }
  return ids;
}

function forgetAll(): void {
  known.clear();
  last.ids = knownOf(last.tenant, last.queue);
  count = 0;
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
