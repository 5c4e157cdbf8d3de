import { Type, type Static, type TInteger } from 'typebox';
import { oneOf, optional } from './schema.js';

export const RETRY_BACKOFFS = ['fixed', 'linear', 'exponential'] as const;
export type RetryBackoff = (typeof RETRY_BACKOFFS)[number];

/** Bounds of the execution policy. The schema below and the rules of the server read the same numbers. */
export const JOB_CONFIG_LIMITS = {
  priority: { minimum: -2_147_483_648, maximum: 2_147_483_647 },
  max_retries: { minimum: 0, maximum: 1000 },
  timeout_secs: { minimum: 1, maximum: 86_400 },
  retry_delay_secs: { minimum: 0, maximum: 2_592_000 },
  retry_max_delay_secs: { minimum: 0, maximum: 2_592_000 },
  jitter_factor: { minimum: 0, maximum: 1 },
} as const;

const priority = Type.Integer({
  ...JOB_CONFIG_LIMITS.priority,
  default: 0,
  description: 'Higher is claimed first within a queue; ties break on scheduled_at, then created_at.',
});
const maxRetries = Type.Integer({
  ...JOB_CONFIG_LIMITS.max_retries,
  default: 3,
  description: 'Retries after the first attempt; 0 means a single attempt.',
});
const timeout = (description: string): TInteger =>
  Type.Integer({ ...JOB_CONFIG_LIMITS.timeout_secs, default: 300, description });
const timeoutSecs = timeout(
  'Seconds an attempt may take. Enforced for in-process handlers; remote workers are bounded by lease and heartbeat.',
);
const retryBackoff = oneOf(RETRY_BACKOFFS, {
  default: 'exponential',
  description: 'How the delay grows with the retry number n, from 0: `fixed` d, `linear` d×(n+1), `exponential` d×2^n.',
});
const retryDelaySecs = Type.Integer({
  ...JOB_CONFIG_LIMITS.retry_delay_secs,
  default: 60,
  description: 'The base delay d, in seconds.',
});
const retryMaxDelaySecs = Type.Integer({
  ...JOB_CONFIG_LIMITS.retry_max_delay_secs,
  default: 3600,
  description: 'Cap on any computed delay, in seconds; applied before the jitter.',
});
const jitterFactor = Type.Number({
  ...JOB_CONFIG_LIMITS.jitter_factor,
  default: 0.1,
  description: 'Each delay is multiplied by a random factor in [1−f, 1+f]; 0.1 means plus or minus 10 percent.',
});

/** The execution policy as it is stored with a job: every field present. */
export const JobConfig = Type.Object(
  {
    priority,
    max_retries: maxRetries,
    timeout_secs: timeoutSecs,
    retry_backoff: retryBackoff,
    retry_delay_secs: retryDelaySecs,
    retry_max_delay_secs: retryMaxDelaySecs,
    jitter_factor: jitterFactor,
  },
  { $id: 'JobConfig', description: 'Execution policy of a job, with every default filled in.' },
);
export type JobConfig = Static<typeof JobConfig>;

export const DEFAULT_JOB_CONFIG: JobConfig = Object.freeze({
  priority: 0,
  max_retries: 3,
  timeout_secs: 300,
  retry_backoff: 'exponential',
  retry_delay_secs: 60,
  retry_max_delay_secs: 3600,
  jitter_factor: 0.1,
});

const policyFields = {
  priority: optional(priority),
  max_retries: optional(maxRetries),
  timeout: optional(timeout('Another spelling of `timeout_secs`; giving both with different values is refused.')),
  timeout_secs: optional(timeoutSecs),
  retry_backoff: optional(retryBackoff),
  retry_delay_secs: optional(retryDelaySecs),
  retry_max_delay_secs: optional(retryMaxDelaySecs),
  jitter_factor: optional(jitterFactor),
};

/** A partial policy: what workflow steps and cron schedules carry. A `queue` in it is ignored. */
export const PartialJobConfig = Type.Object(policyFields, {
  title: 'PartialJobConfig',
  description:
    'Execution policy; fields left out take their defaults. `timeout` and `timeout_secs` are two spellings of one field.',
});
export type PartialJobConfig = Static<typeof PartialJobConfig>;

/** What a create request carries: the partial policy and the queue. */
export const JobConfigInput = Type.Object(
  {
    queue: optional(
      Type.Unsafe<string>({
        type: 'string',
        format: 'text',
        minLength: 1,
        maxLength: 255,
        description: "Queue to put the job on; the server's default queue when left out. Made by being named.",
        examples: ['emails'],
      }),
    ),
    ...policyFields,
  },
  {
    title: 'JobConfigInput',
    description:
      'Queue and execution policy; fields left out take their defaults. `timeout` and `timeout_secs` are two spellings of one field.',
    examples: [{ queue: 'emails', max_retries: 5, timeout: 30 }],
  },
);
export type JobConfigInput = Static<typeof JobConfigInput>;
