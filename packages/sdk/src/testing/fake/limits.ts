import type { FakeStore, StoredJob } from './store.js';

/** Whether every limit that a job names has room. The numbers are those of the newest job that named the key. */
export function hasRoom(store: FakeStore, { record }: StoredJob): boolean {
  return (record.config.limits ?? []).every(({ key }) => {
    const named = [...store.jobs.values()].filter(
      (other) =>
        other.record.queue_name === record.queue_name && other.record.config.limits?.some((limit) => limit.key === key),
    );
    const running = named.filter((other) => other.record.status === 'running').length;
    const most = named.at(-1)?.record.config.limits?.find((limit) => limit.key === key)?.running ?? Infinity;
    return running < most;
  });
}
