import { Type, type Static, type TInteger } from 'typebox';
import { LimitInput, LIMITS_PER_JOB } from './limits.js';
import { UniqueInput } from './unique.js';
import { filledText, instant, oneOf, optional } from './schema.js';

export const RETRY_BACKOFFS = ['fixed', 'linear', 'exponential'] as const;
export type RetryBackoff = (typeof RETRY_BACKOFFS)[number];

/** Bounds of the execution policy. The schema below and the server's rules use the same numbers. */
export const JOB_CONFIG_LIMITS = {
  priority: { minimum: -2_147_483_648, maximum: 2_147_483_647 },
  max_retries: { minimum: 0, maximum: 1000 },
  timeout_secs: { minimum: 1, maximum: 86_400 },
  retry_delay_secs: { minimum: 0, maximum: 2_592_000 },
  retry_max_delay_secs: { minimum: 0, maximum: 2_592_000 },
  jitter_factor: { minimum: 0, maximum: 1 },
} as const;

/** How far after its creation a job may expire: up to a year. */
export const EXPIRES_LIMITS = { minimum: 1, maximum: 31_536_000 } as const;

/** The execution policy of a job that states none. The schema below takes its `default`s from here. */
export const DEFAULT_JOB_CONFIG = Object.freeze({
  priority: 0,
  max_retries: 3,
  timeout_secs: 300,
  retry_backoff: 'exponential',
  retry_delay_secs: 60,
  retry_max_delay_secs: 3600,
  jitter_factor: 0.1,
});

const priority = Type.Integer({
  ...JOB_CONFIG_LIMITS.priority,
  default: DEFAULT_JOB_CONFIG.priority,
  description: 'Within a queue, jobs of higher priority are claimed first; ties go by scheduled_at, then created_at.',
});
const maxRetries = Type.Integer({
  ...JOB_CONFIG_LIMITS.max_retries,
  default: DEFAULT_JOB_CONFIG.max_retries,
  description: 'Retries after the first attempt; 0 means a single attempt.',
});
const timeout = (description: string): TInteger =>
  Type.Integer({ ...JOB_CONFIG_LIMITS.timeout_secs, default: DEFAULT_JOB_CONFIG.timeout_secs, description });
const timeoutSecs = timeout(
  'Seconds that an attempt may take. Enforced for in-process handlers; remote workers are bound by their lease.',
);
const retryBackoff = oneOf(RETRY_BACKOFFS, {
  default: DEFAULT_JOB_CONFIG.retry_backoff,
  description:
    'How the base delay d grows with the number n of retries so far: `fixed` d, `linear` d×(n+1), `exponential` d×2^n.',
});
const retryDelaySecs = Type.Integer({
  ...JOB_CONFIG_LIMITS.retry_delay_secs,
  default: DEFAULT_JOB_CONFIG.retry_delay_secs,
  description: 'The base delay d, in seconds.',
});
const retryMaxDelaySecs = Type.Integer({
  ...JOB_CONFIG_LIMITS.retry_max_delay_secs,
  default: DEFAULT_JOB_CONFIG.retry_max_delay_secs,
  description: 'Upper bound of every delay, in seconds, before the jitter.',
});
const jitterFactor = Type.Number({
  ...JOB_CONFIG_LIMITS.jitter_factor,
  default: DEFAULT_JOB_CONFIG.jitter_factor,
  description: 'Each delay is multiplied by a random factor in [1−f, 1+f]; 0.1 means plus or minus 10 per cent.',
});

const LIMITS_DESCRIPTION =
  'How many jobs of a key may run at a time, or start in a given time. The job waits until every key that it names ' +
  'has room. A key belongs to the tenant and the queue; the newest job that names it sets its numbers.';
const limits = Type.Array(LimitInput, { ...LIMITS_PER_JOB, description: LIMITS_DESCRIPTION });

const expiresSecs = Type.Integer({
  ...EXPIRES_LIMITS,
  description:
    'A job that no worker has started this many seconds after its creation is cancelled. Not in workflow steps, and ' +
    'not together with `expires_at`.',
});
const expiresAt = instant({
  description: 'The same, as an instant. Not before `run_at`; not in workflow steps and schedules.',
  examples: ['2026-01-31T09:15:00Z'],
});

/** The execution policy as stored with a job: every field is present, but for those at the end, which few jobs have. */
export const JobConfig = Type.Object(
  {
    priority,
    max_retries: maxRetries,
    timeout_secs: timeoutSecs,
    retry_backoff: retryBackoff,
    retry_delay_secs: retryDelaySecs,
    retry_max_delay_secs: retryMaxDelaySecs,
    jitter_factor: jitterFactor,
    limits: Type.Optional(limits),
    expires_secs: Type.Optional(expiresSecs),
    expires_at: Type.Optional(expiresAt),
    unique: Type.Optional(UniqueInput),
  },
  { $id: 'JobConfig', description: 'Execution policy of a job, with every default filled in.' },
);
export type JobConfig = Static<typeof JobConfig>;

const TIMEOUT_SPELLINGS =
  '`timeout` is accepted as another spelling of `timeout_secs`; two different values are refused.';

/** Accepted beside `timeout_secs`; the API description knows one spelling, and tells of this one in words. */
export const TIMEOUT_ALIAS = 'timeout';

const policyFields = {
  priority: optional(priority),
  max_retries: optional(maxRetries),
  [TIMEOUT_ALIAS]: optional(timeout('Another spelling of `timeout_secs`; two different values are refused.')),
  timeout_secs: optional(timeoutSecs),
  retry_backoff: optional(retryBackoff),
  retry_delay_secs: optional(retryDelaySecs),
  retry_max_delay_secs: optional(retryMaxDelaySecs),
  jitter_factor: optional(jitterFactor),
  limits: optional(limits),
};

/** A partial policy, as workflow steps carry it. A `queue` in it is ignored. */
export const PartialJobConfig = Type.Object(policyFields, {
  title: 'PartialJobConfig',
  description: `Execution policy; omitted fields take their defaults. ${TIMEOUT_SPELLINGS}`,
});
export type PartialJobConfig = Static<typeof PartialJobConfig>;

/** The same of a schedule, whose jobs may expire. */
export const ScheduleJobConfig = Type.Object(
  { ...policyFields, expires_secs: optional(expiresSecs) },
  {
    title: 'ScheduleJobConfig',
    description: `Execution policy; omitted fields take their defaults. ${TIMEOUT_SPELLINGS}`,
  },
);
export type ScheduleJobConfig = Static<typeof ScheduleJobConfig>;

/** The policy in a request that creates a job: with its queue, when it expires, and what it is the only one of. */
export const JobConfigInput = Type.Object(
  {
    queue: optional(
      filledText({
        description: "Queue to put the job on; the server's default queue if omitted. Queues need no setup.",
        examples: ['emails'],
      }),
    ),
    ...policyFields,
    expires_secs: optional(expiresSecs),
    expires_at: optional(expiresAt),
    unique: optional(UniqueInput),
  },
  {
    title: 'JobConfigInput',
    description: `Queue and execution policy; omitted fields take their defaults. ${TIMEOUT_SPELLINGS}`,
    examples: [{ queue: 'emails', max_retries: 5, timeout_secs: 30 }],
  },
);
export type JobConfigInput = Static<typeof JobConfigInput>;
