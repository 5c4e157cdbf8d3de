import { isObject, type JsonObject } from '../../json/object.js';
import { hasEnded } from '../../records/jobs.js';
import { EXPIRED } from '../../rules/index.js';
import type * as Wire from '../../wire/index.js';
import { ended } from './children.js';
import { errorKind } from './error-kind.js';
import { notFound, Problem } from './problem.js';
import { hasRoom, takeTokens } from './limits.js';
import type { FakeStore, StoredJob } from './store.js';
import { markStarted, stepEnded, WAIT_TASK } from './workflows.js';

/** What changes the state of a job, by the service's own rules. */

export interface Failure {
  readonly error: string;
  readonly retryable?: boolean | null;
  readonly retryAfterSecs?: number | null;
  readonly details?: Wire.ErrorDetails | null;
  /** Of its attempt; `failed` unless said otherwise. */
  readonly outcome?: Wire.Attempt['outcome'];
}

export interface Wanted {
  readonly queue?: string;
  readonly tasks?: ReadonlySet<string>;
}

/** Whether it waits, and is due. */
export const isWaiting = ({ record, dueAt }: StoredJob, now: number): boolean =>
  (record.status === 'pending' || record.status === 'retrying') && dueAt <= now && record.task_name !== WAIT_TASK;

/** By priority, then by when they were due, then by age. */
export const inClaimOrder = (a: StoredJob, b: StoredJob): number =>
  b.record.config.priority - a.record.config.priority || a.dueAt - b.dueAt || a.ordinal - b.ordinal;

const isDue = (store: FakeStore, job: StoredJob, want: Wanted): boolean =>
  isWaiting(job, store.clock.now()) && !store.paused.has(job.record.queue_name) && isWanted(job, want);

const isWanted = ({ record }: StoredJob, want: Wanted): boolean =>
  (want.queue === undefined || record.queue_name === want.queue) && (want.tasks?.has(record.task_name) ?? true);

/** Whether there is a job to hand out. */
export const isClaimable = (store: FakeStore, want: Wanted): boolean =>
  [...store.jobs.values()].some((job) => isDue(store, job, want) && hasRoom(store, job));

/** Hands out due jobs whose limits have room, in the order of claims. */
export function claim(
  store: FakeStore,
  want: Wanted & { most: number; leaseSecs: number; workerId: string | null },
): StoredJob[] {
  const now = store.clock.now();
  const due = [...store.jobs.values()].filter((job) => isDue(store, job, want));
  due.sort(inClaimOrder);
  const claimed: StoredJob[] = [];
  for (const job of due) {
    if (claimed.length === want.most) break;
    if (!hasRoom(store, job)) continue;
    claimed.push(job);
    takeTokens(store, job);
    job.leaseToken = globalThis.crypto.randomUUID();
    job.leaseEnds = now + want.leaseSecs * 1_000;
    const { waiting_for: _, ...record } = job.record;
    job.record = record;
    store.change(job, {
      status: 'running',
      delivery_count: job.record.delivery_count + 1,
      started_at: store.clock.text(),
      next_retry_at: null,
      worker_id: want.workerId,
      lease_expires_at: store.clock.text(job.leaseEnds),
    });
    job.attempts.push({
      ...{ number: job.record.delivery_count, outcome: 'running', worker_id: want.workerId },
      ...{ started_at: store.clock.text(), ended_at: null },
      ...{ error_message: null, error_details: null, next_retry_at: null },
    });
    markStarted(store, job);
  }
  return claimed;
}

export function complete(store: FakeStore, job: StoredJob, result: JsonObject): void {
  endAttempt(store, job, { outcome: 'completed' });
  end(store, job, { status: 'completed', result });
}

export function fail(store: FakeStore, job: StoredJob, failure: Failure): void {
  const { config, retry_count: retryCount } = job.record;
  const details = failure.details ?? null;
  const fields = { error_message: failure.error, ...(details !== null && { error_details: details }) };
  const ending = {
    outcome: failure.outcome ?? 'failed',
    error_message: failure.error,
    error_details: details,
  } as const;
  endAttempt(store, job, ending);
  if (failure.retryable === false) return die(store, job, 'non_retryable', fields);
  if (retryCount >= config.max_retries) return die(store, job, 'max_attempts_exceeded', fields);
  const delaySecs = failure.retryAfterSecs ?? retryDelaySecs(config, retryCount);
  job.dueAt = store.clock.now() + delaySecs * 1_000;
  const next = store.clock.text(job.dueAt);
  endAttempt(store, job, { ...ending, next_retry_at: next });
  letGo(job);
  store.change(job, {
    ...fields,
    ...NOT_RUNNING,
    status: 'retrying',
    retry_count: retryCount + 1,
    scheduled_at: next,
    next_retry_at: next,
  });
}

/** Back to the queue: the delivery counts, the retry does not. */
export function release(store: FakeStore, job: StoredJob, delaySecs: number): void {
  endAttempt(store, job, { outcome: 'released' });
  suspend(store, job, store.clock.now() + delaySecs * 1_000, null);
}

/** The same, to wait for something. */
export function suspend(store: FakeStore, job: StoredJob, dueAt: number, waiting: Wire.WaitingFor | null): void {
  if (job.record.status === 'running') endAttempt(store, job, { outcome: 'suspended' });
  job.dueAt = dueAt;
  const scheduled = store.clock.text(job.dueAt);
  const failedBefore = job.record.retry_count > 0;
  letGo(job);
  const { waiting_for: _, ...record } = job.record;
  job.record = { ...record, ...(waiting !== null && { waiting_for: waiting }) };
  store.change(job, {
    ...NOT_RUNNING,
    status: failedBefore ? 'retrying' : 'pending',
    scheduled_at: scheduled,
    next_retry_at: failedBefore ? scheduled : null,
  });
}

export function cancel(store: FakeStore, job: StoredJob): void {
  if (job.record.status === 'running') endAttempt(store, job, { outcome: 'cancelled' });
  end(store, job, { status: 'cancelled' });
}

/** Jobs that nobody began in time are cancelled. */
export function expireJobs(store: FakeStore): void {
  for (const job of store.jobs.values()) {
    if (job.record.status === 'pending' && expiryOf(job.record) <= store.clock.now())
      end(store, job, { status: 'cancelled', error_message: EXPIRED });
  }
}

/** The first delivery counts as the start. */
function expiryOf({ delivery_count: deliveries, created_at: createdAt, config }: Wire.Job): number {
  if (deliveries > 0) return Infinity;
  if (config.expires_at !== undefined) return Date.parse(config.expires_at);
  return config.expires_secs === undefined ? Infinity : Date.parse(createdAt) + config.expires_secs * 1_000;
}

/** Leases that have run out count as failures. */
export function expireLeases(store: FakeStore): void {
  for (const job of store.jobs.values()) {
    if (job.record.status === 'running' && job.leaseEnds <= store.clock.now())
      fail(store, job, { error: 'lease expired', outcome: 'lease_expired' });
  }
}

/** The job that a worker speaks of, if the token is that of its lease. Null: it has ended, and nothing changes. */
export function held(store: FakeStore, id: string, token: string): StoredJob | null {
  const job = store.job(id);
  if (job === undefined) throw notFound('job');
  if (hasEnded(job.record.status)) return null;
  if (job.record.status !== 'running' || job.leaseToken !== token) {
    throw new Problem('lease_lost', 'the lease is no longer held');
  }
  return job;
}

export function resultOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Says how the present attempt ended; what was said first stands. */
function endAttempt(store: FakeStore, job: StoredJob, fields: Partial<Wire.Attempt>): void {
  const last = job.attempts.pop();
  if (last === undefined) return;
  const outcome = last.outcome === 'running' ? fields.outcome : last.outcome;
  job.attempts.push({ ...last, ended_at: store.clock.text(), ...fields, ...(outcome !== undefined && { outcome }) });
}

const NOT_RUNNING = { worker_id: null, lease_expires_at: null, progress: null } as const;

function letGo(job: StoredJob): void {
  job.leaseToken = null;
  job.leaseEnds = 0;
}

function die(store: FakeStore, job: StoredJob, reason: Wire.DeadLetterReason, fields: Partial<Wire.Job>): void {
  const { record } = job;
  store.deadLetters.push({
    id: store.deadLetters.length + 1,
    job_id: record.id,
    queue_name: record.queue_name,
    task_name: record.task_name,
    reason,
    error_message: fields.error_message ?? null,
    created_at: store.clock.text(),
    replayed_at: null,
    replay_job_id: null,
    tenant_id: record.tenant_id,
    payload_bytes: new TextEncoder().encode(JSON.stringify(record.payload)).length,
    retry_count: record.retry_count,
    fingerprint: JSON.stringify([record.task_name, reason, errorKind(fields.error_message ?? null)]),
  });
  end(store, job, { ...fields, status: 'failed' });
}

function end(store: FakeStore, job: StoredJob, fields: Partial<Wire.Job>): void {
  letGo(job);
  store.ended.push(job.record.id);
  store.change(job, { ...NOT_RUNNING, ...fields, next_retry_at: null, completed_at: store.clock.text() });
  stepEnded(store, job, (other) => cancel(store, other));
  ended(store, job, {
    wake: (parent) => suspend(store, parent, Math.min(parent.dueAt, store.clock.now()), null),
    cancel: (child) => cancel(store, child),
  });
}

/** As the service computes it, without the jitter: tests want to know when. */
function retryDelaySecs(config: Wire.JobConfig, retries: number): number {
  const { retry_backoff: backoff, retry_delay_secs: delay, retry_max_delay_secs: most } = config;
  const grown = { fixed: delay, linear: delay * (retries + 1), exponential: delay === 0 ? 0 : delay * 2 ** retries };
  return Math.min(grown[backoff], most);
}
