import { runIn, type Transaction } from '../shared/transaction.js';
import type { RunningJob } from './types.js';

/**
 * A key for an effect of a job: the same in every attempt, and in the jobs that its dead letters are replayed as. The
 * service says in the metadata of a replay where it comes from.
 */
export function effectKey({ id, metadata }: Pick<RunningJob, 'id' | 'metadata'>, name: string): string {
  const { replayed_from_first: first, replayed_from_job: before } = metadata;
  const origin = [first, before].find((value) => typeof value === 'string') ?? id;
  return `${origin}:${name}`;
}

/** Runs `effect` in the transaction unless one of this key has been committed. */
export async function once<T>(tx: Transaction, key: string, effect: () => T | Promise<T>): Promise<T | undefined> {
  const { first } = await runIn(tx, 'SELECT millrace_outbox.first_time($1::text) AS first', [key]);
  return first === true ? effect() : undefined;
}
