import type { Suspension } from '../../durable/suspension.js';
import { keep } from './checkpoints.js';
import { checkAwaited, endsOf, unfinished } from './children.js';
import { Problem } from './problem.js';
import { suspend } from './settle.js';
import type { FakeStore, StoredJob, StoredSignal, StoredWait } from './store.js';

/** What durable jobs have stored and wait for, and signals that nobody has taken yet, by the service's own rules. */

const SIGNALS_PER_KEY = 100;

export function suspendJob(
  store: FakeStore,
  job: StoredJob,
  { checkpoint, until, delay_secs, wait }: Suspension,
): void {
  const now = store.clock.now();
  const known = job.waits.get(checkpoint)?.until ?? until;
  const dueAt = known === undefined ? now + (delay_secs ?? 0) * 1_000 : Date.parse(known);
  for (const each of job.waits.values()) each.open = false;
  const signal = wait?.signal?.name ?? null;
  const key = signal === null ? null : (wait?.signal?.key ?? job.record.id);
  const names = wait?.children ?? null;
  if (names !== null) checkAwaited(job, names);
  const taken = store.signals.findIndex((each) => each.name === signal && each.key === key && each.endsAt > now);
  if (taken >= 0 && !job.checkpoints.has(checkpoint)) {
    const [one] = store.signals.splice(taken, 1);
    keep(store, job, checkpoint, { value: one?.value ?? null });
  }
  const answer = names && endsOf(store, job, names);
  if (answer !== null) keep(store, job, checkpoint, answer);
  if (job.checkpoints.has(checkpoint)) return suspend(store, job, now, null);
  const since = job.waits.get(checkpoint)?.since ?? store.clock.text();
  const children = names && { total: names.length, unfinished: unfinished(store, job, names) };
  const waiting = { checkpoint, since, until: store.clock.text(dueAt), signal, key, ask: wait?.ask ?? null, children };
  job.waits.set(checkpoint, { ...waiting, open: true, ...(names && { names }) });
  suspend(store, job, dueAt, waiting);
}

/** True: a job took it. */
export function sendSignal(store: FakeStore, signal: StoredSignal): boolean {
  const waiting = [...store.jobs.values()].filter((job) => openWait(job, signal) !== undefined);
  waiting.sort((a, b) => Date.parse(openWait(a, signal)!.since) - Date.parse(openWait(b, signal)!.since));
  for (const job of waiting) {
    const { checkpoint } = openWait(job, signal)!;
    keep(store, job, checkpoint, { value: signal.value });
    if (job.record.status !== 'running') suspend(store, job, Math.min(job.dueAt, store.clock.now()), null);
    return true;
  }
  const stored = store.signals.filter(({ name, key }) => name === signal.name && key === signal.key);
  if (stored.length >= SIGNALS_PER_KEY)
    throw new Problem('conflict', `${SIGNALS_PER_KEY} signals of this name and key are stored, and nobody takes them`);
  store.signals.push(signal);
  return false;
}

function openWait(job: StoredJob, { name, key }: StoredSignal): StoredWait | undefined {
  const { status } = job.record;
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return undefined;
  return [...job.waits.values()].find((wait) => wait.open && wait.signal === name && wait.key === key);
}
