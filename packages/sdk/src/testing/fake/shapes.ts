import * as limits from '../../rules/limits.js';
import type { LimitInput } from '../../wire/index.js';
import {
  anything,
  clamped,
  filled,
  flag,
  fraction,
  instant,
  integer,
  json,
  limitKey,
  list,
  name,
  nested,
  object,
  payload,
  progress,
  shortName,
  text,
  word,
  type Check,
  type Shape,
} from './checks.js';
import { invalid } from './problem.js';

const policy = limits.JOB_CONFIG_LIMITS;
const limit: Check = (value, path) => {
  nested(() => limitShape)(value, path);
  const { running = null, rate = null } = value as LimitInput;
  if (running === null && rate === null) throw invalid(`${path}.running`, 'must be given unless rate is');
  if (rate !== null && (rate.burst ?? 1) > rate.count)
    throw invalid(`${path}.rate.burst`, 'must not be greater than count');
};
const partialConfig: Shape = {
  priority: { check: integer(policy.priority) },
  max_retries: { check: integer(policy.max_retries) },
  timeout: { check: integer(policy.timeout_secs) },
  timeout_secs: { check: integer(policy.timeout_secs) },
  retry_backoff: { check: word('fixed', 'linear', 'exponential') },
  retry_delay_secs: { check: integer(policy.retry_delay_secs) },
  retry_max_delay_secs: { check: integer(policy.retry_max_delay_secs) },
  jitter_factor: { check: fraction(policy.jitter_factor) },
  limits: {
    check: list(limit, { minimum: 1, maximum: 2 }),
  },
};
const scheduleConfig: Shape = { ...partialConfig, expires_secs: { check: integer(limits.EXPIRES_LIMITS) } };
const jobConfig: Shape = {
  ...scheduleConfig,
  expires_at: { check: instant },
  unique: { check: nested(() => uniqueShape) },
  queue: { check: filled },
};
const uniqueShape: Shape = {
  key: { check: limitKey, required: true },
  while: { check: word('waiting', 'unfinished'), required: true },
  on_conflict: { check: word('keep', 'replace') },
  max_wait_secs: { check: integer(limits.MAX_WAIT_LIMITS) },
};
const limitShape: Shape = {
  key: { check: limitKey, required: true },
  running: { check: integer(limits.LIMIT_RUNNING) },
  rate: { check: nested(() => rateShape) },
};
const rateShape: Shape = {
  count: { check: integer(limits.RATE_LIMITS.count), required: true },
  per_secs: { check: integer(limits.RATE_LIMITS.per_secs), required: true },
  burst: { check: integer(limits.RATE_LIMITS.burst) },
};
const delay = integer(limits.DELAY_LIMITS);
const keptNames = { minimum: 0, maximum: limits.KEPT_NAMES_MAX };
/** Which checkpoints a copy begins with: all or none, or these. */
const kept: Check = (value, path) => {
  if (typeof value !== 'boolean') list(shortName, keptNames)(value, path);
};

const job: Shape = {
  task_name: { check: name, required: true },
  payload: { check: payload },
  config: { check: nested(() => jobConfig) },
  run_at: { check: instant },
  delay_secs: { check: delay },
  metadata: { check: payload },
  idempotency_key: { check: text },
};
const { idempotency_key: _, ...ofChild } = job;
const child: Shape = { ...ofChild, name: { check: filled, required: true }, detached: { check: flag } };
const step: Shape = {
  name: { check: name, required: true },
  task_name: { check: name },
  when: { check: nested(() => condition) },
  wait: { check: nested(() => stepWait) },
  payload: { check: payload },
  depends_on: { check: list(text, { minimum: 0, maximum: limits.WORKFLOW_STEP_LIMITS.maximum }) },
  queue: { check: filled },
  config: { check: nested(() => partialConfig) },
  on_failure: { check: word('halt', 'skip', 'continue') },
  on_success: { check: word('continue') },
  metadata: { check: payload },
};
const scalar: Check = (value, path) => {
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw invalid(path, 'must be string, number, boolean or null');
};
const condition: Shape = {
  ref: {
    check: nested(() => ({
      $step: { check: filled },
      path: { check: list(text, { minimum: 0, maximum: 10 }) },
    })),
    required: true,
  },
  is: { check: scalar },
  is_not: { check: scalar },
  in: { check: list((value, path) => void (value === null || scalar(value, path)), { minimum: 1, maximum: 100 }) },
  otherwise: { check: word('skip', 'continue') },
};
const stepWait: Shape = {
  signal: { check: shortName, required: true },
  key: { check: shortName },
  timeout_secs: { check: integer({ minimum: 1, maximum: limits.DELAY_LIMITS.maximum }), required: true },
  ask: { check: json(limits.ASK_MAX_BYTES) },
  on_timeout: { check: word('fail', 'continue') },
};
/** Lines beyond the limit are left out, never refused. */
const logs = {
  check: list(
    nested(() => ({
      at: { check: instant, required: true },
      level: { check: word('debug', 'info', 'warn', 'error'), required: true },
      message: { check: text, required: true },
      fields: { check: object },
    })),
    { minimum: 0, maximum: Infinity },
  ),
};
const token: Shape = { lease_token: { check: text, required: true } };
const failure: Shape = {
  error: { check: text },
  retryable: { check: flag },
  retry_after_secs: { check: integer(limits.RETRY_AFTER_LIMITS) },
  details: { check: object },
  logs,
};

const awaited: Shape = {
  signal: {
    check: nested(() => ({ name: { check: shortName, required: true }, key: { check: shortName } })),
  },
  children: { check: list(filled, limits.BATCH_LIMITS) },
  ask: { check: json(limits.ASK_MAX_BYTES) },
};
const suspension: Shape = {
  checkpoint: { check: shortName },
  until: { check: instant },
  delay_secs: { check: delay },
  wait: { check: nested(() => awaited) },
};

const workflow: Shape = {
  name: { check: name, required: true },
  steps: {
    check: list(
      nested(() => step),
      limits.WORKFLOW_STEP_LIMITS,
    ),
    required: true,
  },
  context: { check: payload },
  metadata: { check: payload },
};

/** The bodies that the fake server reads. */
export const SHAPES = {
  job,
  batch: {
    jobs: {
      check: list(
        nested(() => job),
        limits.BATCH_LIMITS,
      ),
      required: true,
    },
  },
  wait: {
    job_ids: { check: list(text, limits.WAIT_JOBS_LIMITS), required: true },
    until: { check: word('all', 'any') },
    wait_secs: { check: clamped },
  },
  lease: {
    max_jobs: { check: clamped },
    lease_secs: { check: clamped },
    wait_secs: { check: clamped },
    worker_id: { check: filled },
    slots: { check: clamped },
    tasks: { check: list(filled, { minimum: 0, maximum: limits.LEASE_MAX_TASKS }) },
  },
  heartbeat: { ...token, extend_secs: { check: clamped }, progress: { check: progress }, logs },
  heartbeats: {
    extend_secs: { check: clamped },
    leases: {
      check: list(
        nested(() => ({ ...token, job_id: { check: text, required: true }, progress: { check: progress }, logs })),
        limits.LEASE_BATCH_LIMITS,
      ),
      required: true,
    },
  },
  complete: { ...token, result: { check: payload }, logs },
  fail: { ...token, ...failure, error: { check: text, required: true } },
  release: { ...token, delay_secs: { check: delay }, logs },
  replay: { keep_checkpoints: { check: kept } },
  checkpoint: {
    ...token,
    name: { check: shortName, required: true },
    value: { check: anything(limits.DEFAULT_MAX_PAYLOAD_BYTES) },
  },
  suspend: { ...token, ...suspension, logs },
  children: {
    ...token,
    jobs: {
      check: list(
        nested(() => child),
        limits.BATCH_LIMITS,
      ),
      required: true,
    },
  },
  signal: {
    name: { check: shortName, required: true },
    key: { check: shortName, required: true },
    value: { check: anything(limits.SIGNAL_MAX_BYTES) },
    ttl_secs: { check: integer(limits.SIGNAL_TTL_LIMITS) },
  },
  jobSignal: { value: { check: anything(limits.SIGNAL_MAX_BYTES) } },
  reports: { reports: { check: list(object, limits.LEASE_BATCH_LIMITS), required: true } },
  report: {
    ...token,
    ...failure,
    job_id: { check: text, required: true },
    outcome: { check: word('completed', 'failed', 'released', 'suspended'), required: true },
    result: { check: payload },
    ...suspension,
    traceparent: { check: text },
  },
  operation: {
    action: {
      check: word('cancel_jobs', 'replay_dead_letters', 'resume_workflows', 'run_jobs_now', 'rerun_jobs'),
      required: true,
    },
    filter: { check: object },
    ids: { check: list(text, limits.OPERATION_IDS_LIMITS) },
    dry_run: { check: flag },
    keep_checkpoints: { check: kept },
  },
  workflow,
  resume: {
    steps: { check: list(text, limits.WORKFLOW_STEP_LIMITS) },
    context: { check: payload },
    dry_run: { check: flag },
  },
  cron: {
    name: { check: name },
    cron_expr: { check: filled, required: true },
    timezone: { check: filled },
    task_name: { check: name },
    workflow: { check: nested(() => workflow) },
    payload: { check: payload },
    queue: { check: filled },
    config: { check: nested(() => scheduleConfig) },
    overlap: { check: word('allow', 'skip') },
  },
} satisfies Record<string, Shape>;
