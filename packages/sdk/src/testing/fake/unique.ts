import { hasEnded } from '../../records/jobs.js';
import type * as Wire from '../../wire/index.js';
import { invalid } from './problem.js';
import type { FakeStore, StoredJob } from './store.js';

/** The rules of unique jobs: which one is in the way of a new one. */

export function checkUnique(unique: Wire.UniqueInput): void {
  const replaces = unique.on_conflict === 'replace';
  if (replaces && unique.while !== 'waiting')
    throw invalid('config.unique.on_conflict', 'replace needs while: "waiting"');
  if (typeof unique.max_wait_secs === 'number' && !replaces)
    throw invalid('config.unique.max_wait_secs', 'needs on_conflict: "replace"');
}

/** The newest job of the key, if it is in the way. */
export function inTheWay(store: FakeStore, queue: string, unique: Wire.UniqueInput): StoredJob | null {
  const newest = [...store.jobs.values()]
    .reverse()
    .find(({ record }) => record.queue_name === queue && record.config.unique?.key === unique.key);
  if (newest === undefined) return null;
  const { status, delivery_count: deliveries } = newest.record;
  const isThere = unique.while === 'waiting' ? status === 'pending' && deliveries === 0 : !hasEnded(status);
  return isThere ? newest : null;
}

/** What waits takes the new fields; it is due by its longest wait. */
export function replace(
  store: FakeStore,
  job: StoredJob,
  fields: Pick<Wire.Job, 'task_name' | 'payload' | 'metadata' | 'config'>,
  dueAt: number,
): void {
  const { created_at: createdAt } = job.record;
  const maxWait = fields.config.unique?.max_wait_secs ?? Infinity;
  job.dueAt = Math.max(store.clock.now(), Math.min(dueAt, Date.parse(createdAt) + maxWait * 1_000));
  store.change(job, { ...fields, scheduled_at: store.clock.text(job.dueAt) });
}
