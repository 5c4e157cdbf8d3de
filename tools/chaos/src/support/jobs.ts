import type { ChaosClient, LeasedJob, Reply } from '../history/client.js';
import { QUICK } from '../stage/actors.js';

const MOST_PER_LEASE = 100;

/** Jobs for a batch, all alike. */
export const jobsOn = (queue: string, count: number): readonly Readonly<Record<string, unknown>>[] =>
  Array.from({ length: count }, () => ({ task_name: 'work', config: { queue, ...QUICK } }));

/** Leases `count` jobs, or as many as the queue has. */
export async function leaseMany(
  client: ChaosClient,
  queue: string,
  count: number,
  secs: number,
): Promise<readonly LeasedJob[]> {
  const leased: LeasedJob[] = [];
  while (leased.length < count) {
    const jobs = await client.lease(queue, { max: Math.min(MOST_PER_LEASE, count - leased.length), secs });
    if (jobs.length === 0) break;
    leased.push(...jobs);
  }
  return leased;
}

export const completeAll = (client: ChaosClient, jobs: readonly LeasedJob[]): Promise<readonly Reply[]> =>
  Promise.all(jobs.map(({ id, token }) => client.complete(id, token)));

/** Leases and completes until the queue has had nothing to offer for `wait` seconds. */
export async function emptyQueue(client: ChaosClient, queue: string, wait = 0): Promise<void> {
  for (;;) {
    const jobs = await client.lease(queue, { max: MOST_PER_LEASE, secs: 60, wait });
    if (jobs.length === 0) return;
    await completeAll(client, jobs);
  }
}
