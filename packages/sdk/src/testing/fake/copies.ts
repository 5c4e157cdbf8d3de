import type * as Wire from '../../wire/index.js';
import { notFound, Problem } from './problem.js';
import type { FakeStore, StoredJob } from './store.js';

/** Which checkpoints a copy begins with: all, those of these names, or none. */
export type Kept = boolean | readonly string[] | null | undefined;

/** A fresh job like another one, which its metadata names. */
export function copyOf(
  store: FakeStore,
  { record: job, checkpoints }: StoredJob,
  origin: Record<string, unknown>,
  kept: Kept,
): string {
  const { task_name, queue_name, payload } = job;
  const { expires_at: _, unique: __, ...config } = job.config;
  const { kept_checkpoints: ___, ...before } = job.metadata;
  const isKept = kept === true || Array.isArray(kept);
  const metadata = { ...before, ...origin, ...(isKept && { kept_checkpoints: true }) };
  const copy = store.addJob({ task_name, queue_name, payload, metadata }, config, store.clock.now());
  for (const [name, { value }] of checkpoints) {
    if (!isKept || isFailure(value) || (Array.isArray(kept) && !kept.includes(name))) continue;
    copy.checkpoints.set(name, { name, value, at: store.clock.text(), attempt: 0 });
  }
  return copy.record.id;
}

/** A time-out, or children that did not complete: kept, they would only fail again. */
function isFailure(value: unknown): boolean {
  const { timed_out: timedOut, children } = (value ?? {}) as { timed_out?: unknown; children?: unknown };
  if (timedOut === true) return true;
  return Array.isArray(children) && children.some((child: { status?: string }) => child.status !== 'completed');
}

/** Returns the id of the new job. */
export function replayLetter(store: FakeStore, letter: Wire.DeadLetter, kept: Kept): string {
  const old = store.job(letter.job_id);
  if (letter.replayed_at !== null) throw new Problem('already_replayed', 'the dead letter was replayed already');
  if (old === undefined) throw notFound('job');
  const { metadata } = old.record;
  const first = metadata.replayed_from_first ?? metadata.replayed_from_job;
  const origin = {
    replayed_from_job: old.record.id,
    replayed_from_dead_letter: letter.id,
    ...(first !== undefined && { replayed_from_first: first }),
  };
  const id = copyOf(store, old, origin, kept);
  const replayed = { ...letter, replayed_at: store.clock.text(), replay_job_id: id };
  store.deadLetters[store.deadLetters.indexOf(letter)] = replayed;
  return id;
}
