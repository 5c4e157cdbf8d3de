import { isObject } from '../../json/object.js';
import { LEASE_LIMITS } from '../../rules/limits.js';
import type * as Wire from '../../wire/index.js';
import { clamp, nothing, ok, type FakeRequest, type Route } from './request.js';
import { noteAsk } from './presence.js';
import { Problem } from './problem.js';
import { suspendJob } from './durable.js';
import { suspensionOf } from './durable-routes.js';
import { keepLogs } from './logs.js';
import { claim, complete, fail, held, isClaimable, release, resultOf } from './settle.js';
import { checkBody } from './checks.js';
import { SHAPES } from './shapes.js';
import type { FakeStore } from './store.js';

const lease: Route = async ({ store, params, body, signal }) => {
  const given = checkBody<Wire.LeaseRequest>(body ?? {}, SHAPES.lease);
  const want = {
    queue: params[0] ?? '',
    most: clamp(given.max_jobs, LEASE_LIMITS.max_jobs),
    leaseSecs: clamp(given.lease_secs, LEASE_LIMITS.lease_secs),
    workerId: given.worker_id ?? null,
  };
  noteAsk(store, want.queue, given);
  let jobs = claim(store, want);
  const deadline = store.clock.now() + clamp(given.wait_secs, LEASE_LIMITS.wait_secs) * 1_000;
  while (jobs.length === 0 && store.clock.now() < deadline) {
    await store.until(() => isClaimable(store, want), deadline, signal);
    jobs = claim(store, want);
  }
  return ok({ jobs: jobs.map(({ record, leaseToken }) => ({ job: record, lease_token: leaseToken })) });
};

function beat(store: FakeStore, id: string, given: Wire.HeartbeatRequest): Wire.JobStatus {
  const job = held(store, id, given.lease_token);
  if (job === null) return store.job(id)?.record.status ?? 'completed';
  job.leaseEnds = store.clock.now() + clamp(given.extend_secs, LEASE_LIMITS.extend_secs) * 1_000;
  keepLogs(store, job, given.logs);
  const progress = given.progress ?? job.record.progress;
  store.change(job, { lease_expires_at: store.clock.text(job.leaseEnds), progress });
  return job.record.status;
}

const heartbeat: Route = ({ store, params, body }) => {
  const given = checkBody<Wire.HeartbeatRequest>(body, SHAPES.heartbeat);
  return ok({ status: beat(store, params[0] ?? '', given) });
};

/** What a call for one item alone would have been answered with. */
function item<T>(id: string, make: () => T): T | { job_id: string; code: Wire.ErrorCode; error: string } {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { job_id: id, code: error.code, error: error.message };
  }
}

const heartbeats: Route = ({ store, body }) => {
  const { extend_secs, leases } = checkBody<Wire.HeartbeatsRequest>(body, SHAPES.heartbeats);
  const answers = leases.map(({ job_id, lease_token, progress, logs }) => {
    const given = { lease_token, extend_secs: extend_secs ?? null, progress: progress ?? null, logs: logs ?? null };
    const answer = item(job_id, () => ({ job_id, status: beat(store, job_id, given) }));
    return 'code' in answer ? { job_id, code: answer.code } : answer;
  });
  return ok({ leases: answers });
};

/** Reports on a job that has ended change nothing. */
function report(store: FakeStore, given: Wire.Report): void {
  const job = held(store, given.job_id, given.lease_token);
  if (job === null) return;
  keepLogs(store, job, given.logs);
  switch (given.outcome) {
    case 'completed':
      return complete(store, job, resultOf(given.result));
    case 'failed':
      return fail(store, job, {
        error: given.error ?? '',
        retryable: given.retryable ?? true,
        retryAfterSecs: given.retry_after_secs ?? null,
        details: given.details ?? null,
      });
    case 'released':
      return release(store, job, given.delay_secs ?? 0);
    case 'suspended':
      return suspendJob(store, job, suspensionOf(given));
  }
}

const single =
  (outcome: Wire.Report['outcome'], shape: keyof typeof SHAPES): Route =>
  ({ store, params, body }: FakeRequest) => {
    const given = checkBody<Omit<Wire.Report, 'job_id' | 'outcome'>>(body, SHAPES[shape]);
    report(store, { ...given, outcome, job_id: params[0] ?? '' });
    return nothing;
  };

const reports: Route = ({ store, body }) => {
  const given = checkBody<{ reports: unknown[] }>(body, SHAPES.reports);
  const answers = given.reports.map((each) => {
    const id = isObject(each) && typeof each.job_id === 'string' ? each.job_id : '';
    return item(id, () => {
      const checked = checkBody<Wire.Report>(each, SHAPES.report);
      if (checked.outcome === 'failed' && checked.error === undefined)
        throw new Problem('invalid_request', 'error is required');
      report(store, checked);
      return { job_id: id, ok: true };
    });
  });
  return ok({ reports: answers });
};

const FEATURES: readonly Wire.Feature[] = [
  ...(['reports', 'heartbeats', 'release', 'progress', 'wait', 'idempotency', 'item_keys', 'strict'] as const),
  ...(['durable', 'step_rules', 'logs'] as const),
];

const whoami: Route = ({ store }) =>
  ok({
    kind: 'developer',
    tenant_id: 'tenant1',
    read_only: false,
    dev: true,
    version: '0.2.0',
    default_queue: 'default',
    retention_hours: null,
    now: store.clock.text(),
    trace_url: null,
    features: FEATURES,
  });

export const workerRoutes: readonly (readonly [string, string, Route])[] = [
  ['POST', '/queues/:queue/lease', lease],
  ['POST', '/jobs/:id/heartbeat', heartbeat],
  ['POST', '/jobs/:id/complete', single('completed', 'complete')],
  ['POST', '/jobs/:id/fail', single('failed', 'fail')],
  ['POST', '/jobs/:id/release', single('released', 'release')],
  ['POST', '/heartbeats', heartbeats],
  ['POST', '/reports', reports],
  ['GET', '/whoami', whoami],
];
