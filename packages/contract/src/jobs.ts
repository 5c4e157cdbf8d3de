import { Type, type Static, type TOptional, type TString } from 'typebox';
import { listQueryFields, page, preferHeader, searchedTo, VIEWS, warnings } from './common.js';
import { DEFAULT_JOB_CONFIG, JobConfig, JobConfigInput } from './job-config.js';
import { callerObject, instant, NAME_MAX_LENGTH, nameText, nullable, oneOf, optional, ref, uuid } from './schema.js';

export const JOB_STATUSES = ['pending', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** The states that a job never leaves. */
export const TERMINAL_JOB_STATUSES = ['completed', 'failed', 'cancelled'] as const satisfies readonly JobStatus[];
export type TerminalJobStatus = (typeof TERMINAL_JOB_STATUSES)[number];

/**
 * The one meaning of the states in everything that counts jobs; each job is in exactly one of them. A job's `status`
 * has the same words but for `scheduled`, which it calls `pending`.
 */
export const JOB_STATES = {
  pending: 'Due, and never failed.',
  scheduled: 'Not due yet, and never failed.',
  retrying: 'Failed before, and will be tried again: due or not.',
  running: 'Held by a worker under a lease.',
  completed: 'Ended with a result.',
  failed: 'Failed for good; there is a dead letter.',
  cancelled: 'Cancelled before it ended.',
} as const;
export type JobState = keyof typeof JOB_STATES;

/** How far in the future `delay_secs` may reach: a year. */
export const DELAY_LIMITS = { minimum: 0, maximum: 31_536_000 } as const;
/** How long a call may wait for jobs to end. */
export const WAIT_LIMITS = { minimum: 0, maximum: 30, default: 0 } as const;
/** How many jobs one call may wait for. */
export const WAIT_JOBS_LIMITS = { minimum: 1, maximum: 1000 } as const;
/** Attempts kept per job: the first ones and the last ones. */
export const ATTEMPTS_KEPT = { first: 20, last: 20 } as const;
/** How many rows a walk over waiting jobs reads before it says so and stops. */
export const WALK_LIMIT = 20_000;

export const BATCH_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const IDEMPOTENCY_KEY_MAX_LENGTH = NAME_MAX_LENGTH;
/** Keys with this prefix belong to the service (cron firings); clients must not send one. */
export const RESERVED_KEY_PREFIX = 'millrace:';

export const JobStatusSchema = oneOf(JOB_STATUSES, {
  description: '`completed`, `failed` and `cancelled` are final.',
});

const runningFields = {
  worker_id: nullable(
    Type.String({ description: 'Who runs the job: the `worker_id` of its lease, or the name of a server process.' }),
  ),
  lease_expires_at: nullable(instant({ description: 'While the job runs: when its lease expires unless extended.' })),
  progress: nullable(
    callerObject({ description: 'What the running attempt last reported; null once the attempt has ended.' }),
  ),
};

export const Job = Type.Object(
  {
    id: uuid({ description: 'Identifier assigned by the service.' }),
    queue_name: Type.String({ description: 'The queue the job is on.' }),
    task_name: Type.String({ description: 'The task: the name of a handler in the server or in a remote worker.' }),
    payload: callerObject({
      description: 'Passed to the handler exactly as sent. Workflow steps also receive the key `_context`.',
    }),
    config: ref(JobConfig),
    status: JobStatusSchema,
    result: nullable(callerObject({ description: 'What the handler returned; null until the job completes.' })),
    error_message: nullable(Type.String({ description: 'The error that the last failed attempt reported.' })),
    retry_count: Type.Integer({ description: 'Retries used so far.' }),
    delivery_count: Type.Integer({ description: 'How often a worker has claimed the job.' }),
    created_at: instant({ description: 'When the job was created.' }),
    scheduled_at: instant({
      description: 'When the job becomes claimable: at creation, at `run_at`, or at the end of its retry delay.',
    }),
    started_at: nullable(instant({ description: 'When the latest attempt started.' })),
    completed_at: nullable(instant({ description: 'When the job reached its final state, whichever that is.' })),
    next_retry_at: nullable(
      instant({ description: 'Equal to `scheduled_at` while the job is retrying, otherwise null.' }),
    ),
    idempotency_key: nullable(Type.String({ description: 'The idempotency key that the job was created with.' })),
    workflow_id: nullable(Type.String({ description: 'The workflow whose step the job executes, if any.' })),
    workflow_step_id: nullable(Type.String({ description: 'The name of that step.' })),
    tenant_id: Type.String({ description: 'The tenant that owns the job.' }),
    metadata: callerObject({ description: "The caller's own data, returned exactly as sent." }),
    ...runningFields,
  },
  {
    $id: 'Job',
    description: 'One invocation of a named task.',
    examples: [
      {
        id: '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10',
        queue_name: 'emails',
        task_name: 'send_welcome',
        payload: { user_id: 42 },
        config: { ...DEFAULT_JOB_CONFIG },
        status: 'completed',
        result: { message_id: 'a1b2' },
        error_message: null,
        retry_count: 0,
        delivery_count: 1,
        created_at: '2026-01-31T09:00:00.123456Z',
        scheduled_at: '2026-01-31T09:00:00.123456Z',
        started_at: '2026-01-31T09:00:00.130201Z',
        completed_at: '2026-01-31T09:00:00.481112Z',
        next_retry_at: null,
        idempotency_key: null,
        workflow_id: null,
        workflow_step_id: null,
        tenant_id: 'acme',
        metadata: {},
        worker_id: null,
        lease_expires_at: null,
        progress: null,
      },
    ],
  },
);
export type Job = Static<typeof Job>;

export const CreateJob = Type.Object(
  {
    task_name: nameText({
      description: 'The task: the name of a handler in the server or in a remote worker. Must not be blank.',
      examples: ['send_welcome'],
    }),
    payload: optional(
      callerObject({ description: 'Passed to the handler; `{}` if omitted.', examples: [{ user_id: 42 }] }),
    ),
    config: optional(JobConfigInput),
    run_at: optional(
      instant({
        description:
          'Earliest start, as RFC 3339 with an offset or Z; a space may stand for the `T`, and the offset may lack its ' +
          'colon. An instant in the past means now.',
        examples: ['2026-01-31T09:00:00Z'],
      }),
    ),
    delay_secs: optional(
      Type.Integer({
        ...DELAY_LIMITS,
        description: "Earliest start, in seconds from now by the database's clock. Not together with `run_at`.",
        examples: [600],
      }),
    ),
    metadata: optional(
      callerObject({
        description: 'Your own data, stored and returned exactly as sent.',
        examples: [{ source: 'signup' }],
      }),
    ),
    idempotency_key: optional(
      Type.String({
        description:
          'The same as the header `Idempotency-Key`; two different values are refused. Not in the jobs of a batch.',
      }),
    ),
  },
  {
    $id: 'CreateJob',
    description: 'A job to create. Only `task_name` is required; unknown fields are ignored, with a warning.',
    examples: [{ task_name: 'send_welcome', payload: { user_id: 42 }, config: { queue: 'emails', max_retries: 5 } }],
  },
);
export type CreateJob = Static<typeof CreateJob>;

export const CreateJobBatch = Type.Object(
  {
    jobs: Type.Array(ref(CreateJob), {
      minItems: BATCH_LIMITS.minimum,
      maxItems: BATCH_LIMITS.maximum,
      description: 'All of them are created, or none.',
    }),
  },
  { $id: 'CreateJobBatch', examples: [{ jobs: [{ task_name: 'echo', payload: { n: 1 } }, { task_name: 'log' }] }] },
);
export type CreateJobBatch = Static<typeof CreateJobBatch>;

const idempotencyKey = (repeat: string): TOptional<TString> =>
  Type.Optional(
    Type.String({
      description:
        `${repeat} The answer then carries \`Idempotency-Replayed: true\`. A key that was used for another kind of ` +
        `request is a 409. Trimmed; an empty key counts as none; at most ${IDEMPOTENCY_KEY_MAX_LENGTH} characters; ` +
        `must not begin with \`${RESERVED_KEY_PREFIX}\`.`,
    }),
  );

export const CreateJobHeaders = Type.Object({
  ...preferHeader,
  'Idempotency-Key': idempotencyKey(
    'A repeated request with the same key returns the job that the first one created, whatever its body says.',
  ),
});

/** The headers of every other request that creates something. */
export const IdempotentHeaders = Type.Object({
  ...preferHeader,
  'Idempotency-Key': idempotencyKey(
    'A repeated request with the same key is answered as the first one was, whatever its body says.',
  ),
});

export const JobCreated = Type.Object(
  { job_id: uuid({ description: 'The new job or, for a repeated idempotency key, the job created first.' }), warnings },
  { $id: 'JobCreated' },
);
export type JobCreated = Static<typeof JobCreated>;

export const JobBatchCreated = Type.Object(
  {
    job_ids: Type.Array(uuid(), { description: 'In the order of the request.' }),
    count: Type.Integer({ description: 'How many jobs were created.' }),
    warnings,
  },
  { $id: 'JobBatchCreated' },
);
export type JobBatchCreated = Static<typeof JobBatchCreated>;

/** The filters of a list of jobs: names and meaning are the same in the filter of a bulk operation. */
export const jobFilterFields = {
  status: Type.Optional(
    Type.String({
      description: `Only jobs in this state, or in one of several: ${JOB_STATUSES.join(', ')}; separated by commas.`,
      examples: ['failed,cancelled'],
    }),
  ),
  queue: Type.Optional(Type.String({ description: 'Only jobs on this queue.' })),
  task: Type.Optional(
    Type.String({
      description:
        'Only jobs of this task. No index serves it: a page walks a bounded number of jobs, and may come back short ' +
        'with `has_more`, `next_cursor` and `searched_to`.',
    }),
  ),
  workflow_id: Type.Optional(Type.String({ description: 'Only the jobs of this workflow.' })),
  idempotency_key: Type.Optional(Type.String({ description: 'Only the job created with this key.' })),
};

export const JobListQuery = Type.Object({
  ...jobFilterFields,
  view: Type.Optional(
    oneOf(VIEWS, {
      default: 'full',
      description: '`summary` leaves out payload, result and metadata and adds `payload_bytes`.',
    }),
  ),
  ...listQueryFields,
});

export const JobPage = Type.Object(
  { ...page('jobs', ref(Job), {}).properties, searched_to: searchedTo, warnings },
  { $id: 'JobPage', description: 'One page of jobs.' },
);
export type JobPage = Static<typeof JobPage>;

const { payload: _payload, result: _result, metadata: _metadata, ...summaryFields } = Job.properties;

export const JobSummary = Type.Object(
  {
    ...summaryFields,
    payload_bytes: Type.Integer({ description: 'Size in bytes of the payload that a full record shows.' }),
  },
  { $id: 'JobSummary', description: 'A job without payload, result and metadata.' },
);
export type JobSummary = Static<typeof JobSummary>;

export const JobSummaryPage = Type.Object(
  { ...page('jobs', ref(JobSummary), {}).properties, searched_to: searchedTo, warnings },
  { $id: 'JobSummaryPage', description: 'One page of jobs, with `view=summary`.' },
);
export type JobSummaryPage = Static<typeof JobSummaryPage>;

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
    job_ids: Type.Array(Type.String(), {
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
        description: `How long to wait: ${WAIT_LIMITS.minimum} to ${WAIT_LIMITS.maximum} seconds; other numbers are clamped to that range.`,
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
  'running',
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/** A longer stack is cut, never refused. */
export const ERROR_STACK_MAX_BYTES = 65_536;

export const ErrorDetails = Type.Object(
  {
    name: Type.Optional(nullable(Type.String({ description: 'The class of the error.', examples: ['TypeError'] }))),
    stack: Type.Optional(nullable(Type.String({ description: 'The stack trace, as the worker reported it.' }))),
  },
  {
    $id: 'ErrorDetails',
    description: `What is known about an error beyond its message; cut at ${ERROR_STACK_MAX_BYTES} bytes.`,
  },
);
export type ErrorDetails = Static<typeof ErrorDetails>;

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
    attempts: Type.Array(ref(Attempt), { description: 'In the order of their number.' }),
    omitted: Type.Integer({
      description: `How many attempts are not shown: the first ${ATTEMPTS_KEPT.first} and the last ${ATTEMPTS_KEPT.last} are kept.`,
    }),
  },
  { $id: 'Attempts' },
);
export type Attempts = Static<typeof Attempts>;

export const WHY_REASONS = [
  'due_later',
  'retry_backoff',
  'behind',
  'no_worker',
  'queue_paused',
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
