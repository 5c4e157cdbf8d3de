import { isObject, type JsonObject } from '../../json/object.js';
import { invalid, Problem } from './problem.js';

/** Checks one value, given its path. */
type Check = (value: unknown, path: string) => void;
export type Shape = Readonly<Record<string, { readonly check: Check; readonly required?: boolean }>>;

const NAME_MAX_LENGTH = 255;

const text: Check = (value, path) => {
  if (typeof value !== 'string') throw invalid(path, 'must be string');
};
const filled: Check = (value, path) => {
  text(value, path);
  if (value === '') throw invalid(path, 'must NOT have fewer than 1 characters');
  if ([...(value as string)].length > NAME_MAX_LENGTH) throw invalid(path, 'must NOT have more than 255 characters');
};
const name: Check = (value, path) => {
  filled(value, path);
  if (!/\S/.test(value as string)) throw invalid(path, 'must not be blank');
};
const object: Check = (value, path) => {
  if (!isObject(value)) throw invalid(path, 'must be object');
};
const flag: Check = (value, path) => {
  if (typeof value !== 'boolean') throw invalid(path, 'must be boolean');
};
const integer =
  (minimum: number, maximum: number): Check =>
  (value, path) => {
    if (!Number.isInteger(value)) throw invalid(path, 'must be integer');
    between(value as number, path, minimum, maximum);
  };
/** Numbers outside their range are clamped later, not refused. */
const clamped: Check = (value, path) => {
  if (!Number.isInteger(value)) throw invalid(path, 'must be integer');
};
const fraction: Check = (value, path) => {
  if (typeof value !== 'number') throw invalid(path, 'must be number');
  between(value, path, 0, 1);
};
const word =
  (...words: string[]): Check =>
  (value, path) => {
    if (!words.includes(value as string)) throw invalid(path, `must be one of: ${words.join(', ')}`);
  };
const instant: Check = (value, path) => {
  if (typeof value !== 'string' || Number.isNaN(Date.parse(value))) throw invalid(path, 'must be an RFC 3339 instant');
};
const list =
  (item: Check, minimum: number, maximum: number): Check =>
  (value, path) => {
    if (!Array.isArray(value)) throw invalid(path, 'must be array');
    if (value.length < minimum) throw invalid(path, `must NOT have fewer than ${minimum} items`);
    if (value.length > maximum) throw invalid(path, `must NOT have more than ${maximum} items`);
    value.forEach((each, index) => item(each, `${path}[${index}]`));
  };
const nested =
  (shape: () => Shape): Check =>
  (value, path) => {
    object(value, path);
    checkFields(value as JsonObject, shape(), path);
  };

function between(value: number, path: string, minimum: number, maximum: number): void {
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

const DAY = 86_400;
const partialConfig: Shape = {
  priority: { check: integer(-2_147_483_648, 2_147_483_647) },
  max_retries: { check: integer(0, 1_000) },
  timeout: { check: integer(1, DAY) },
  timeout_secs: { check: integer(1, DAY) },
  retry_backoff: { check: word('fixed', 'linear', 'exponential') },
  retry_delay_secs: { check: integer(0, 30 * DAY) },
  retry_max_delay_secs: { check: integer(0, 30 * DAY) },
  jitter_factor: { check: fraction },
};

const job: Shape = {
  task_name: { check: name, required: true },
  payload: { check: object },
  config: { check: nested(() => ({ ...partialConfig, queue: { check: filled } })) },
  run_at: { check: instant },
  delay_secs: { check: integer(0, 365 * DAY) },
  metadata: { check: object },
  idempotency_key: { check: text },
};
const step: Shape = {
  name: { check: name, required: true },
  task_name: { check: name, required: true },
  payload: { check: object },
  depends_on: { check: list(text, 0, 1_000) },
  queue: { check: filled },
  config: { check: nested(() => partialConfig) },
  on_failure: { check: word('halt', 'skip', 'continue') },
  on_success: { check: word('continue') },
  metadata: { check: object },
};
const token: Shape = { lease_token: { check: text, required: true } };
const failure: Shape = {
  error: { check: text },
  retryable: { check: flag },
  retry_after_secs: { check: integer(0, 30 * DAY) },
  details: { check: object },
};

/** The bodies that the fake server reads. */
export const SHAPES = {
  job,
  batch: {
    jobs: {
      check: list(
        nested(() => job),
        1,
        1_000,
      ),
      required: true,
    },
  },
  wait: {
    job_ids: { check: list(text, 1, 1_000), required: true },
    until: { check: word('all', 'any') },
    wait_secs: { check: clamped },
  },
  lease: {
    max_jobs: { check: clamped },
    lease_secs: { check: clamped },
    wait_secs: { check: clamped },
    worker_id: { check: filled },
  },
  heartbeat: { ...token, extend_secs: { check: clamped }, progress: { check: object } },
  heartbeats: {
    extend_secs: { check: clamped },
    leases: {
      check: list(
        nested(() => ({ ...token, job_id: { check: text, required: true }, progress: { check: object } })),
        1,
        1_000,
      ),
      required: true,
    },
  },
  complete: { ...token, result: { check: object } },
  fail: { ...token, ...failure, error: { check: text, required: true } },
  release: { ...token, delay_secs: { check: integer(0, 365 * DAY) } },
  reports: { reports: { check: list(object, 1, 1_000), required: true } },
  report: {
    ...token,
    ...failure,
    job_id: { check: text, required: true },
    outcome: { check: word('completed', 'failed', 'released'), required: true },
    result: { check: object },
    delay_secs: { check: integer(0, 365 * DAY) },
    traceparent: { check: text },
  },
  workflow: {
    name: { check: name, required: true },
    steps: {
      check: list(
        nested(() => step),
        1,
        1_000,
      ),
      required: true,
    },
    context: { check: object },
    metadata: { check: object },
  },
  cron: {
    name: { check: name },
    cron_expr: { check: filled, required: true },
    timezone: { check: filled },
    task_name: { check: name, required: true },
    payload: { check: object },
    queue: { check: filled },
    config: { check: nested(() => partialConfig) },
  },
} satisfies Record<string, Shape>;
