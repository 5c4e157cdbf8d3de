import { why as words, type Standing } from '../../rules/index.js';
import type * as Wire from '../../wire/index.js';
import { linesOf } from './admission.js';
import { askersOf, lastAsk } from './presence.js';
import { inClaimOrder, isWaiting } from './settle.js';
import type { FakeStore, StoredJob } from './store.js';

/** Why a job does not run, in the words of the service. */
export function explain(store: FakeStore, job: StoredJob): Wire.Why {
  const { record } = job;
  const standing = standingOf(store, job);
  const lines = [...linesOf(store).values()];
  const line = lines.find(({ waiting }) => waiting.includes(job));
  if (line !== undefined) {
    const { key, running, limit, rate, nextSecs, waiting } = line;
    return words.limited({ key, running, limit, rate, nextSecs, ahead: waiting.indexOf(job), now: standing.now });
  }
  const why = words.whyNot(standing);
  if (why === null || words.isPutOff(standing)) {
    const nobody = words.unhandled(standing, record.task_name, askersOf(store, record.queue_name));
    if (nobody !== null) return nobody;
  }
  if (why !== null) return why;
  const held = new Set(lines.flatMap(({ waiting }) => waiting));
  const due = [...store.jobs.values()].filter(
    (other) => other.record.queue_name === record.queue_name && isWaiting(other, store.clock.now()) && !held.has(other),
  );
  return words.behind(due.sort(inClaimOrder).indexOf(job), standing);
}

function standingOf(store: FakeStore, { record }: StoredJob): Standing {
  return {
    now: store.clock.text(),
    queue: record.queue_name,
    status: record.status,
    scheduledAt: record.scheduled_at,
    startedAt: record.started_at,
    completedAt: record.completed_at,
    deliveryCount: record.delivery_count,
    workerId: record.worker_id,
    leaseExpiresAt: record.lease_expires_at,
    pausedAt: store.paused.get(record.queue_name)?.at ?? null,
    lastLeaseAt: lastAsk(store, record.queue_name),
    waitingFor: record.waiting_for ?? null,
    error: record.error_message,
  };
}
