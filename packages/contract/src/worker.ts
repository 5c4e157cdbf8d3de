import { Type, type Static, type TInteger } from 'typebox';
import { ERROR_CODES } from './errors.js';
import { ERROR_STACK_MAX_BYTES, ErrorDetails } from './error-details.js';
import { DELAY_LIMITS, Job, JobStatusSchema } from './jobs.js';
import { JOB_CONFIG_LIMITS } from './job-config.js';
import { logs } from './logs.js';
import { callerObject, filledText, NAME_MAX_LENGTH, oneOf, optional, ref, uuid } from './schema.js';
import { suspendFields } from './waiting.js';

/** Numbers outside these ranges are clamped to them; only a wrong type is refused. */
export const LEASE_LIMITS = {
  max_jobs: { minimum: 1, maximum: 100, default: 1 },
  lease_secs: { minimum: 1, maximum: 3600, default: 30 },
  wait_secs: { minimum: 0, maximum: 30, default: 0 },
  extend_secs: { minimum: 1, maximum: 3600, default: 30 },
  slots: { minimum: 1, maximum: 10_000, default: 1 },
} as const;

/** How many tasks a lease call may name. */
export const LEASE_MAX_TASKS = 200;

/** How many leases one call may extend or report on. */
export const LEASE_BATCH_LIMITS = { minimum: 1, maximum: 1000 } as const;
/** The largest progress report, in bytes of JSON. */
export const PROGRESS_MAX_BYTES = 16_384;
/** The range of `retry_after_secs`: that of every retry delay. */
export const RETRY_AFTER_LIMITS = JOB_CONFIG_LIMITS.retry_delay_secs;

/** A longer error text is cut, never refused: losing a failure report would cost more than losing its tail. */
export const ERROR_TEXT_MAX_LENGTH = 65_536;

type Limit = (typeof LEASE_LIMITS)[keyof typeof LEASE_LIMITS];

/** The range is part of the description: given as keywords, the validator would refuse what should be clamped. */
const clamped = (limit: Limit, description: string): TInteger =>
  Type.Integer({
    default: limit.default,
    description: `${description} ${limit.minimum} to ${limit.maximum}; other numbers are clamped to that range.`,
  });

export const QueueParams = Type.Object({
  queue: filledText({
    description: `Name of the queue, percent-encoded: 1 to ${NAME_MAX_LENGTH} characters of any kind.`,
  }),
});

export const LeaseRequest = Type.Object(
  {
    max_jobs: optional(clamped(LEASE_LIMITS.max_jobs, 'How many jobs to claim at most.')),
    lease_secs: optional(clamped(LEASE_LIMITS.lease_secs, 'Seconds until the lease expires unless it is extended.')),
    wait_secs: optional(clamped(LEASE_LIMITS.wait_secs, 'Seconds to wait for a job when none is due.')),
    worker_id: optional(
      filledText({
        description:
          'Who asks: shown on the jobs that it runs and in the list of workers. Any text; need not be unique.',
        examples: ['mailer-7f9c'],
      }),
    ),
    slots: optional(
      Type.Integer({
        description:
          `How many jobs of this queue the worker can hold at a time, ${LEASE_LIMITS.slots.minimum} to ` +
          `${LEASE_LIMITS.slots.maximum}; other numbers are clamped to that range. Shown, never enforced.`,
      }),
    ),
    tasks: optional(
      Type.Array(filledText(), {
        maxItems: LEASE_MAX_TASKS,
        description:
          'The tasks that the worker has handlers for. Shown, and used to explain why a job waits; never enforced.',
        examples: [['resize', 'thumbnail']],
      }),
    ),
  },
  {
    $id: 'LeaseRequest',
    description: 'The body may be empty.',
    examples: [{ max_jobs: 10, lease_secs: 60, wait_secs: 20, slots: 20, tasks: ['resize'] }],
  },
);
export type LeaseRequest = Static<typeof LeaseRequest>;

export const LeasedJob = Type.Object(
  {
    job: ref(Job),
    lease_token: uuid({ description: 'New on every claim; required by heartbeat, complete and fail.' }),
  },
  { $id: 'LeasedJob' },
);
export type LeasedJob = Static<typeof LeasedJob>;

export const LeaseResponse = Type.Object(
  {
    jobs: Type.Array(ref(LeasedJob), {
      description: 'In claim order: priority (highest first), scheduled_at, created_at. May be empty.',
    }),
  },
  { $id: 'LeaseResponse' },
);
export type LeaseResponse = Static<typeof LeaseResponse>;

export const leaseToken = Type.String({
  description: 'The token that came with the job.',
  examples: ['5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10'],
});

const progress = optional(
  callerObject({
    description:
      `How far the attempt is, in your own words: shown on the job and sent to its event stream. At most ` +
      `${PROGRESS_MAX_BYTES} bytes of JSON.`,
    examples: [{ done: 70, of: 100 }],
  }),
);

export const HeartbeatRequest = Type.Object(
  {
    lease_token: leaseToken,
    extend_secs: optional(clamped(LEASE_LIMITS.extend_secs, 'The new deadline, in seconds from now.')),
    progress,
    logs,
  },
  {
    $id: 'HeartbeatRequest',
    examples: [{ lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', extend_secs: 60 }],
  },
);
export type HeartbeatRequest = Static<typeof HeartbeatRequest>;

export const HeartbeatResponse = Type.Object(
  { status: JobStatusSchema },
  {
    $id: 'HeartbeatResponse',
    description: '`running`: the lease is extended. Anything else: stop working on the job and report nothing.',
  },
);
export type HeartbeatResponse = Static<typeof HeartbeatResponse>;

export const CompleteRequest = Type.Object(
  {
    lease_token: leaseToken,
    result: optional(callerObject({ description: 'What the handler returned; `{}` if omitted.' })),
    logs,
  },
  {
    $id: 'CompleteRequest',
    examples: [{ lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', result: { message_id: 'a1b2' } }],
  },
);
export type CompleteRequest = Static<typeof CompleteRequest>;

const failureFields = {
  error: Type.String({
    description:
      'What went wrong. Characters that cannot be stored are replaced; text beyond ' +
      `${ERROR_TEXT_MAX_LENGTH} characters is cut.`,
    examples: ['smtp: connection refused'],
  }),
  retryable: optional(
    Type.Boolean({ default: true, description: 'False: the job fails for good, even if it has retries left.' }),
  ),
  retry_after_secs: optional(
    Type.Integer({
      ...RETRY_AFTER_LIMITS,
      description:
        'When to try again, in seconds from now, instead of the computed delay: neither capped nor jittered.',
    }),
  ),
  details: Type.Optional(
    Type.Unsafe<ErrorDetails | null>({
      title: 'ErrorDetails',
      type: ['object', 'null'],
      properties: ErrorDetails.properties,
      description: `Name and stack of the error; cut at ${ERROR_STACK_MAX_BYTES} bytes, never refused for its length.`,
    }),
  ),
  logs,
};

export const FailRequest = Type.Object(
  { lease_token: leaseToken, ...failureFields },
  {
    $id: 'FailRequest',
    examples: [
      { lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', error: 'smtp: connection refused', retryable: true },
    ],
  },
);
export type FailRequest = Static<typeof FailRequest>;

const delaySecs = optional(
  Type.Integer({ ...DELAY_LIMITS, description: 'When the job is due again, in seconds from now; at once if omitted.' }),
);

export const ReleaseRequest = Type.Object(
  { lease_token: leaseToken, delay_secs: delaySecs, logs },
  {
    $id: 'ReleaseRequest',
    description: 'Gives the job back to its queue. The delivery counts, the retry does not.',
    examples: [{ lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', delay_secs: 5 }],
  },
);
export type ReleaseRequest = Static<typeof ReleaseRequest>;

const jobId = Type.String({ description: 'The job.', examples: ['019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10'] });

export const HeartbeatsRequest = Type.Object(
  {
    extend_secs: optional(clamped(LEASE_LIMITS.extend_secs, 'The new deadline of all of them, in seconds from now.')),
    leases: Type.Array(Type.Object({ job_id: jobId, lease_token: leaseToken, progress, logs }), {
      minItems: LEASE_BATCH_LIMITS.minimum,
      maxItems: LEASE_BATCH_LIMITS.maximum,
      description: 'The leases to extend.',
    }),
  },
  { $id: 'HeartbeatsRequest', description: 'A heartbeat for many leases at once.' },
);
export type HeartbeatsRequest = Static<typeof HeartbeatsRequest>;

const itemCode = oneOf(ERROR_CODES, {
  description: 'The code of the error that a call for this item alone would have been answered with.',
});

export const HeartbeatsResponse = Type.Object(
  {
    leases: Type.Array(
      Type.Object({
        job_id: jobId,
        status: Type.Optional(JobStatusSchema),
        code: Type.Optional(itemCode),
        error: Type.Optional(Type.String({ description: 'With `code`: what was wrong, for people.' })),
      }),
      { description: 'One per lease, in the order of the request: either its `status` or a `code`.' },
    ),
  },
  { $id: 'HeartbeatsResponse' },
);
export type HeartbeatsResponse = Static<typeof HeartbeatsResponse>;

export const REPORT_OUTCOMES = ['completed', 'failed', 'released', 'suspended'] as const;
export type ReportOutcome = (typeof REPORT_OUTCOMES)[number];

export const Report = Type.Object(
  {
    job_id: jobId,
    lease_token: leaseToken,
    outcome: oneOf(REPORT_OUTCOMES, { description: 'What to report; the other fields are those of the single call.' }),
    result: optional(callerObject({ description: '`completed`: what the handler returned; `{}` if omitted.' })),
    ...failureFields,
    error: Type.Optional(failureFields.error),
    delay_secs: delaySecs,
    ...suspendFields,
    traceparent: optional(
      Type.String({
        description:
          'The span of the attempt, as in the header of a single call (W3C Trace Context). Used if the server ' +
          'traces; a malformed one has no effect.',
        examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01'],
      }),
    ),
  },
  { $id: 'Report', description: 'How one attempt ended: what `complete`, `fail`, `release` or `suspend` would say.' },
);
export type Report = Static<typeof Report>;

export const ReportsRequest = Type.Object(
  {
    reports: Type.Array(ref(Report), {
      minItems: LEASE_BATCH_LIMITS.minimum,
      maxItems: LEASE_BATCH_LIMITS.maximum,
      description: 'Each is checked on its own: a bad one does not affect the others.',
    }),
  },
  { $id: 'ReportsRequest' },
);
export type ReportsRequest = Static<typeof ReportsRequest>;

export const ReportsResponse = Type.Object(
  {
    reports: Type.Array(
      Type.Object({
        job_id: jobId,
        ok: Type.Optional(Type.Literal(true, { description: 'The report was accepted.' })),
        code: Type.Optional(itemCode),
        error: Type.Optional(Type.String({ description: 'With `code`: what was wrong, for people.' })),
      }),
      { description: 'One per report, in the order of the request: either `ok` or a `code`.' },
    ),
  },
  { $id: 'ReportsResponse' },
);
export type ReportsResponse = Static<typeof ReportsResponse>;
