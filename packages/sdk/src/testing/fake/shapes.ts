import { isObject, type JsonObject } from '../../json/object.js';
import { characterCount, isInstant, isLongerThan, isStorableText, NOT_STORABLE } from '../../rules/index.js';
import * as limits from '../../rules/limits.js';
import { invalid, Problem } from './problem.js';

/** Checks one value, given its path. */
type Check = (value: unknown, path: string) => void;
interface Range {
  readonly minimum: number;
  readonly maximum: number;
}
export type Shape = Readonly<Record<string, { readonly check: Check; readonly required?: boolean }>>;

const text: Check = (value, path) => {
  if (typeof value !== 'string') throw invalid(path, 'must be string');
};
const filled: Check = (value, path) => {
  text(value, path);
  if (value === '') throw invalid(path, 'must not be empty');
  if (!isStorableText(value as string)) throw invalid(path, NOT_STORABLE);
  if (characterCount(value as string) > limits.NAME_MAX_LENGTH)
    throw invalid(path, `must have at most ${limits.NAME_MAX_LENGTH} characters`);
};
const name: Check = (value, path) => {
  filled(value, path);
  if (!/\S/.test(value as string)) throw invalid(path, 'must not be blank');
};
/** The key of a limit, or of a unique job. */
const limitKey: Check = (value, path) => {
  filled(value, path);
  const { maxLength } = limits.LIMIT_KEY_LENGTH;
  if (characterCount(value as string) > maxLength) throw invalid(path, `must have at most ${maxLength} characters`);
};
const object: Check = (value, path) => {
  if (!isObject(value)) throw invalid(path, 'must be object');
};
/** JSON that belongs to the caller. */
const json =
  (maxBytes: number): Check =>
  (value, path) => {
    object(value, path);
    if (!isLongerThan(maxBytes, JSON.stringify(value))) return;
    const message = `must be at most ${maxBytes} bytes of JSON`;
    throw new Problem('payload_too_large', `${path} ${message}`, [{ path, message }]);
  };
const payload = json(limits.DEFAULT_MAX_PAYLOAD_BYTES);
const progress = json(limits.PROGRESS_MAX_BYTES);
const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') throw invalid(path, 'must be boolean');
};
const integer =
  (range: Range): Check =>
  (value, path) => {
    if (!Number.isInteger(value)) throw invalid(path, 'must be integer');
    between(value as number, path, range);
  };
/** Numbers outside their range are clamped later, not refused. */
const clamped: Check = (value, path) => {
  if (!Number.isInteger(value)) throw invalid(path, 'must be integer');
};
const fraction =
  (range: Range): Check =>
  (value, path) => {
    if (typeof value !== 'number') throw invalid(path, 'must be number');
    between(value, path, range);
  };
const word =
  (...words: string[]): Check =>
  (value, path) => {
    if (!words.includes(value as string)) throw invalid(path, `must be one of ${words.join(', ')}`);
  };
const instant: Check = (value, path) => {
  text(value, path);
  if (!isInstant(value as string)) throw invalid(path, 'must be an RFC 3339 instant with an offset or Z');
};
const list =
  (item: Check, { minimum, maximum }: Range): Check =>
  (value, path) => {
    if (!Array.isArray(value)) throw invalid(path, 'must be array');
    if (value.length < minimum) throw invalid(path, `must have at least ${minimum} item`);
    if (value.length > maximum) throw invalid(path, `must have at most ${maximum} items`);
    value.forEach((each, index) => item(each, `${path}[${index}]`));
  };
const nested =
  (shape: () => Shape): Check =>
  (value, path) => {
    object(value, path);
    checkFields(value as JsonObject, shape(), path);
  };

function between(value: number, path: string, { minimum, maximum }: Range): void {
  if (value < minimum) throw invalid(path, `must be >= ${minimum}`);
  if (value > maximum) throw invalid(path, `must be <= ${maximum}`);
}

/** The SDK asks for strict handling, so a field that the service does not know is refused. */
function checkFields(fields: JsonObject, shape: Shape, at: string): void {
  const path = (field: string): string => (at === '' ? field : `${at}.${field}`);
  for (const field of Object.keys(fields)) {
    if (!Object.hasOwn(shape, field)) throw invalid(path(field), 'is not a known field');
  }
  for (const [field, { check, required = false }] of Object.entries(shape)) {
    const value = fields[field];
    if (value !== undefined && value !== null) check(value, path(field));
    else if (required) throw invalid(path(field), 'is required');
  }
}

/** The body of a request, checked. */
export function checkBody<T>(body: unknown, shape: Shape): T {
  if (!isObject(body)) throw new Problem('invalid_request', 'the body must be a JSON object');
  checkFields(body, shape, '');
  return body as T;
}

const policy = limits.JOB_CONFIG_LIMITS;
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
    check: list(
      nested(() => limitShape),
      { minimum: 1, maximum: 2 },
    ),
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
  running: { check: integer({ minimum: 1, maximum: 10_000 }), required: true },
};
const delay = integer(limits.DELAY_LIMITS);

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
  task_name: { check: name, required: true },
  payload: { check: payload },
  depends_on: { check: list(text, { minimum: 0, maximum: limits.WORKFLOW_STEP_LIMITS.maximum }) },
  queue: { check: filled },
  config: { check: nested(() => partialConfig) },
  on_failure: { check: word('halt', 'skip', 'continue') },
  on_success: { check: word('continue') },
  metadata: { check: payload },
};
const token: Shape = { lease_token: { check: text, required: true } };
const failure: Shape = {
  error: { check: text },
  retryable: { check: flag },
  retry_after_secs: { check: integer(limits.RETRY_AFTER_LIMITS) },
  details: { check: object },
};

/** The name of a checkpoint or a signal. */
const shortName: Check = (value, path) => {
  filled(value, path);
  if (characterCount(value as string) > limits.CHECKPOINT_NAME_MAX_LENGTH)
    throw invalid(path, `must have at most ${limits.CHECKPOINT_NAME_MAX_LENGTH} characters`);
};
/** Any JSON. */
const anything =
  (maxBytes: number): Check =>
  (value, path) => {
    if (!isLongerThan(maxBytes, JSON.stringify(value))) return;
    const message = `must be at most ${maxBytes} bytes of JSON`;
    throw new Problem('payload_too_large', `${path} ${message}`, [{ path, message }]);
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
  },
  heartbeat: { ...token, extend_secs: { check: clamped }, progress: { check: progress } },
  heartbeats: {
    extend_secs: { check: clamped },
    leases: {
      check: list(
        nested(() => ({ ...token, job_id: { check: text, required: true }, progress: { check: progress } })),
        limits.LEASE_BATCH_LIMITS,
      ),
      required: true,
    },
  },
  complete: { ...token, result: { check: payload } },
  fail: { ...token, ...failure, error: { check: text, required: true } },
  release: { ...token, delay_secs: { check: delay } },
  checkpoint: {
    ...token,
    name: { check: shortName, required: true },
    value: { check: anything(limits.DEFAULT_MAX_PAYLOAD_BYTES) },
  },
  suspend: { ...token, ...suspension },
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
  workflow: {
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
  },
  resume: {
    steps: { check: list(text, limits.WORKFLOW_STEP_LIMITS) },
    context: { check: payload },
    dry_run: { check: flag },
  },
  cron: {
    name: { check: name },
    cron_expr: { check: filled, required: true },
    timezone: { check: filled },
    task_name: { check: name, required: true },
    payload: { check: payload },
    queue: { check: filled },
    config: { check: nested(() => scheduleConfig) },
  },
} satisfies Record<string, Shape>;
