import { Type, type Static } from 'typebox';
import type { ErrorDetails } from './error-details.js';
import { TERMINAL_JOB_STATUSES } from './jobs.js';
import { instant, NAME_MAX_LENGTH, nullable, oneOf, optional, ref, uuid } from './schema.js';

/** How long a call may wait for jobs to end. */
export const WAIT_LIMITS = { minimum: 0, maximum: 30, default: 0 } as const;
/** How many jobs one call may wait for. */
export const WAIT_JOBS_LIMITS = { minimum: 1, maximum: 1000 } as const;
/** Attempts kept per job: the first ones and the last ones. */
export const ATTEMPTS_KEPT = { first: 20, last: 20 } as const;
/** How many rows a walk over waiting jobs reads before it says so and stops. */
export const WALK_LIMIT = 20_000;

const waitSecs = Type.Integer({
  ...WAIT_LIMITS,
  description: 'How long to wait, in seconds. Numbers outside the range are clamped to it.',
});

export const GetJobQuery = Type.Object({
  wait_secs: Type.Optional({
    ...waitSecs,
    description: 'Answer when the job has ended, or after this many seconds with the state it then has.',
  }),
});

export const WAIT_UNTIL = ['all', 'any'] as const;

export const WaitRequest = Type.Object(
  {
    job_ids: Type.Array(Type.String({ maxLength: NAME_MAX_LENGTH }), {
      minItems: WAIT_JOBS_LIMITS.minimum,
      maxItems: WAIT_JOBS_LIMITS.maximum,
      description: 'Jobs to wait for. Duplicates count once.',
    }),
    until: optional(
      oneOf(WAIT_UNTIL, { default: 'all', description: 'Answer when all of them have ended, or when any has.' }),
    ),
    wait_secs: optional(
      Type.Integer({
        default: WAIT_LIMITS.default,
        description:
          `How long to wait: ${WAIT_LIMITS.minimum} to ${WAIT_LIMITS.maximum} seconds; ` +
          'other numbers are clamped to that range.',
      }),
    ),
  },
  {
    $id: 'WaitRequest',
    examples: [{ job_ids: ['019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10'], until: 'all', wait_secs: 20 }],
  },
);
export type WaitRequest = Static<typeof WaitRequest>;

export const WaitResponse = Type.Object(
  {
    ended: Type.Array(
      Type.Object({ id: uuid(), status: oneOf(TERMINAL_JOB_STATUSES, { description: 'How it ended.' }) }),
      { description: 'Jobs that have ended.' },
    ),
    pending: Type.Array(uuid(), { description: 'Jobs that have not ended.' }),
    missing: Type.Array(Type.String(), {
      description: 'Ids that name no job: malformed, unknown, or removed by retention.',
    }),
  },
  { $id: 'WaitResponse', description: 'Each list in the order of the request.' },
);
export type WaitResponse = Static<typeof WaitResponse>;

export const ATTEMPT_OUTCOMES = [
  'completed',
  'failed',
  'timed_out',
  'lease_expired',
  'cancelled',
  'released',
  'suspended',
  'running',
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export const Attempt = Type.Object(
  {
    number: Type.Integer({ description: 'The delivery: 1 for the first.' }),
    outcome: oneOf(ATTEMPT_OUTCOMES, { description: 'How the attempt ended.' }),
    worker_id: nullable(Type.String({ description: 'Who ran it.' })),
    started_at: nullable(instant({ description: 'When it was claimed.' })),
    ended_at: nullable(instant({ description: 'When it ended; null while it runs.' })),
    error_message: nullable(Type.String({ description: 'What it reported.' })),
    error_details: Type.Unsafe<ErrorDetails | null>({
      anyOf: [{ $ref: 'ErrorDetails#' }, { type: 'null' }],
      description: 'Name and stack of the error, if the worker reported them.',
    }),
    next_retry_at: nullable(instant({ description: 'When the job was due again after it.' })),
  },
  { $id: 'Attempt', description: 'One delivery of a job to a worker.' },
);
export type Attempt = Static<typeof Attempt>;

export const Attempts = Type.Object(
  {
    first_due_at: instant({
      description:
        'When it was first due, or will be: its `run_at` or the end of its delay, no sooner than it existed.',
    }),
    attempts: Type.Array(ref(Attempt), { description: 'In the order of their number.' }),
    omitted: Type.Integer({
      description:
        `How many attempts are not shown: the first ${ATTEMPTS_KEPT.first} and ` +
        `the last ${ATTEMPTS_KEPT.last} are kept.`,
    }),
  },
  { $id: 'Attempts' },
);
export type Attempts = Static<typeof Attempts>;

export const WHY_REASONS = [
  'due_later',
  'retry_backoff',
  'sleeping',
  'waiting_for_signal',
  'waiting_for_children',
  'behind',
  'no_worker',
  'no_handler',
  'queue_paused',
  'limited',
  'rate_limited',
  'waiting_for_its_turn',
  'running',
  'ended',
] as const;
export type WhyReason = (typeof WHY_REASONS)[number];

export const Why = Type.Object(
  {
    reason: oneOf(WHY_REASONS, { description: 'Why the job is not running, or that it is, or that it has ended.' }),
    message: Type.String({ description: 'One sentence for a person.' }),
    until: Type.Optional(instant({ description: 'When that changes by itself, if it does.' })),
    ahead: Type.Optional(Type.Integer({ description: `How many jobs are ahead of it, counted up to ${WALK_LIMIT}.` })),
    limit: Type.Optional(
      Type.Object(
        { key: Type.String(), running: Type.Integer(), limit: Type.Integer() },
        { description: 'If it is `limited`: the key that it waits for, how many of it run, and how many may.' },
      ),
    ),
    last_lease_at: Type.Optional(instant({ description: 'When a worker last asked for jobs of its queue.' })),
  },
  {
    $id: 'Why',
    description: 'What a job waits for.',
    examples: [
      {
        reason: 'retry_backoff',
        message: 'Attempt 2 failed; the next one is due at 2026-01-31T09:01:00Z.',
        until: '2026-01-31T09:01:00Z',
      },
    ],
  },
);
export type Why = Static<typeof Why>;
