import { Type, type Static, type TInteger } from 'typebox';
import { Job, JobStatusSchema } from './jobs.js';
import { callerObject, filledText, NAME_MAX_LENGTH, optional, ref, uuid } from './schema.js';

/** Numbers outside these ranges are clamped to them; only a wrong type is refused. */
export const LEASE_LIMITS = {
  max_jobs: { minimum: 1, maximum: 100, default: 1 },
  lease_secs: { minimum: 1, maximum: 3600, default: 30 },
  wait_secs: { minimum: 0, maximum: 30, default: 0 },
  extend_secs: { minimum: 1, maximum: 3600, default: 30 },
} as const;

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
    description: `Queue to lease from, percent-encoded: 1 to ${NAME_MAX_LENGTH} characters of any kind.`,
  }),
});

export const LeaseRequest = Type.Object(
  {
    max_jobs: optional(clamped(LEASE_LIMITS.max_jobs, 'How many jobs to claim at most.')),
    lease_secs: optional(clamped(LEASE_LIMITS.lease_secs, 'Seconds until the lease expires unless it is extended.')),
    wait_secs: optional(clamped(LEASE_LIMITS.wait_secs, 'Seconds to wait for a job when none is due.')),
  },
  {
    $id: 'LeaseRequest',
    description: 'The body may be empty.',
    examples: [{ max_jobs: 10, lease_secs: 60, wait_secs: 20 }],
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

const leaseToken = Type.String({
  description: 'The token that came with the job.',
  examples: ['5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10'],
});

export const HeartbeatRequest = Type.Object(
  {
    lease_token: leaseToken,
    extend_secs: optional(clamped(LEASE_LIMITS.extend_secs, 'The new deadline, in seconds from now.')),
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
  },
  {
    $id: 'CompleteRequest',
    examples: [{ lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', result: { message_id: 'a1b2' } }],
  },
);
export type CompleteRequest = Static<typeof CompleteRequest>;

export const FailRequest = Type.Object(
  {
    lease_token: leaseToken,
    error: Type.String({
      description:
        'What went wrong. Characters that cannot be stored are replaced; text beyond ' +
        `${ERROR_TEXT_MAX_LENGTH} characters is cut.`,
      examples: ['smtp: connection refused'],
    }),
    retryable: optional(
      Type.Boolean({ default: true, description: 'False: the job fails for good, even if it has retries left.' }),
    ),
  },
  {
    $id: 'FailRequest',
    examples: [
      { lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', error: 'smtp: connection refused', retryable: true },
    ],
  },
);
export type FailRequest = Static<typeof FailRequest>;
