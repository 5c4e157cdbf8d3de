import type { FakeStore, StoredJob } from './store.js';

/** What stands under the name, and whether it is new. */
export function keep(
  store: FakeStore,
  job: StoredJob,
  name: string,
  value: unknown,
): { value: unknown; isNew: boolean } {
  const before = job.checkpoints.get(name);
  if (before !== undefined) return { value: before.value, isNew: false };
  const attempt = job.record.delivery_count;
  job.checkpoints.set(name, { name, value, at: store.clock.text(), attempt });
  job.waits.delete(name);
  return { value, isNew: true };
}
