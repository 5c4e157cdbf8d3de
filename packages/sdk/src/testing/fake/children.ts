import { hasEnded } from '../../records/jobs.js';
import { keep } from './checkpoints.js';
import { invalid } from './problem.js';
import type { FakeStore, StoredJob, StoredWait } from './store.js';

/** Jobs that running jobs have created, by the service's own rules. */

/** How these children ended; null: not all of them have. */
export function endsOf(store: FakeStore, parent: StoredJob, names: readonly string[]): object | null {
  const children = names.map((name) => ({ name, record: childOf(store, parent, name).record }));
  if (!children.every(({ record }) => hasEnded(record.status))) return null;
  return {
    children: children.map(({ name, record: { id, status, result, error_message: error } }) => ({
      ...{ name, job_id: id, status },
      ...(status === 'completed' ? { result } : { error }),
    })),
  };
}

export function checkAwaited(parent: StoredJob, names: readonly string[]): void {
  for (const name of names) {
    const child = parent.children.get(name);
    if (child === undefined) throw invalid('wait.children', `the job has no child ${JSON.stringify(name)}`);
    if (child.detached)
      throw invalid('wait.children', `the child ${JSON.stringify(name)} is detached, and cannot be waited for`);
  }
}

/** How many of them have not ended. */
export const unfinished = (store: FakeStore, parent: StoredJob, names: readonly string[]): number =>
  names.filter((name) => !hasEnded(childOf(store, parent, name).record.status)).length;

/** Tells the parent of a job that it has ended, and cancels the children of one that was cancelled. */
export function ended(
  store: FakeStore,
  job: StoredJob,
  { wake, cancel }: { wake: (parent: StoredJob) => void; cancel: (child: StoredJob) => void },
): void {
  const parent = store.job(job.record.parent_job_id ?? '');
  if (parent !== undefined && !hasEnded(parent.record.status)) tell(store, parent, wake);
  if (job.record.status !== 'cancelled') return;
  for (const { id, detached } of job.children.values()) {
    const child = store.job(id);
    if (child !== undefined && !detached && !hasEnded(child.record.status)) cancel(child);
  }
}

function tell(store: FakeStore, parent: StoredJob, wake: (parent: StoredJob) => void): void {
  const wait = [...parent.waits.values()].find(({ open, names }) => open && names !== undefined);
  if (wait?.names === undefined) return;
  const answer = endsOf(store, parent, wait.names);
  if (answer === null) return showUnfinished(store, parent, wait);
  keep(store, parent, wait.checkpoint, answer);
  if (parent.record.status !== 'running') wake(parent);
}

function showUnfinished(store: FakeStore, parent: StoredJob, { names = [] }: StoredWait): void {
  const { waiting_for: shown } = parent.record;
  if (shown === undefined) return;
  const children = { total: names.length, unfinished: unfinished(store, parent, names) };
  store.change(parent, { waiting_for: { ...shown, children } });
}

const childOf = (store: FakeStore, parent: StoredJob, name: string): StoredJob =>
  store.job(parent.children.get(name)?.id ?? '')!;
