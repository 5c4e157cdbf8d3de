import { Type, type Static, type TOptional, type TString } from 'typebox';
import { listQueryFields, page, preferHeader, searchedTo, VIEWS, warnings } from './common.js';
import type { ErrorDetails } from './error-details.js';
import { DEFAULT_JOB_CONFIG, JobConfig, JobConfigInput } from './job-config.js';
import { callerObject, instant, NAME_MAX_LENGTH, nameText, nullable, oneOf, optional, ref, uuid } from './schema.js';
import { WaitingFor } from './waiting.js';

export const JOB_STATUSES = ['pending', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** The states that a job never leaves. */
export const TERMINAL_JOB_STATUSES = ['completed', 'failed', 'cancelled'] as const satisfies readonly JobStatus[];
export type TerminalJobStatus = (typeof TERMINAL_JOB_STATUSES)[number];

/**
 * The one meaning of the states; each job is in exactly one of them. A job's `status` has the same words but for
 * `scheduled`, which it calls `pending`. What a queue holds is said by whether it is due, with what is retried among
 * it: `retrying` and `retrying_later` of its depth tell the two apart.
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
    parent_job_id: Type.Optional(
      uuid({
        description: 'The job that created this one while it ran. Absent for other jobs, and in leases.',
      }),
    ),
    tenant_id: Type.String({ description: 'The tenant that owns the job.' }),
    metadata: callerObject({ description: "The caller's own data, returned exactly as sent." }),
    ...runningFields,
    waiting_for: Type.Optional({
      ...ref(WaitingFor),
      description: 'What a suspended job waits for. Absent for other jobs, and in lists.',
    }),
    error_details: Type.Optional(
      Type.Unsafe<ErrorDetails>({
        $ref: 'ErrorDetails#',
        description: 'Name and stack of its last error, if a worker reported them. Only where a single job is read.',
      }),
    ),
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

/** What is said of every job that is created. */
export const createJobFields = {
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
        'Earliest start, as RFC 3339 with an offset or Z; a space may replace the `T`, and the colon of the offset ' +
        'may be omitted. An instant in the past means now.',
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
};

export const CreateJob = Type.Object(
  {
    ...createJobFields,
    idempotency_key: optional(
      Type.String({
        description:
          'The same as the header `Idempotency-Key`; two different values are refused. In a batch: the key of this ' +
          'job alone, instead of one in the header for all of them. It is kept as long as its job, and at least ' +
          'seven days.',
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
    count: Type.Integer({ description: 'The length of `job_ids`.' }),
    replayed: Type.Optional(
      Type.Array(Type.Integer(), {
        description:
          'If jobs had keys of their own: the positions of those that created nothing, because a job with their key ' +
          'existed.',
      }),
    ),
    existing: Type.Optional(
      Type.Array(Type.Integer(), {
        description:
          'If jobs were `unique`: the positions of those that created nothing, because a job of their key existed.',
      }),
    ),
    warnings,
  },
  { $id: 'JobBatchCreated' },
);
export type JobBatchCreated = Static<typeof JobBatchCreated>;

/** How long a text may be that errors are searched for. */
export const ERROR_SEARCH_LENGTH = { minimum: 3, maximum: 200 } as const;

/** Behind it comes the name of a field. */
export const METADATA_PREFIX = 'metadata.';

/** The filters of a list of jobs: names and meaning are the same in the filter of a bulk operation. */
export const jobFilterFields = {
  status: Type.Optional(
    Type.String({
      description: `Only jobs in this state, or in one of several: ${JOB_STATUSES.join(', ')}; separated by commas.`,
      examples: ['failed,cancelled'],
    }),
  ),
  queue: Type.Optional(Type.String({ description: 'Only jobs on this queue.' })),
  due: Type.Optional(
    Type.Boolean({
      description:
        'Only jobs that wait and are due, or that wait and are not due yet; retries too, unless `status` leaves them ' +
        'out. With `status=pending`, false means the jobs that `/counts` calls `scheduled`. Searched for like `task`.',
    }),
  ),
  task: Type.Optional(
    Type.String({
      description:
        'Only jobs of this task. No index serves it: a page walks a bounded number of jobs, and may come back short ' +
        'with `has_more`, `next_cursor` and `searched_to`.',
    }),
  ),
  error: Type.Optional(
    Type.String({
      minLength: ERROR_SEARCH_LENGTH.minimum,
      maxLength: ERROR_SEARCH_LENGTH.maximum,
      description:
        'Only failed and retrying jobs whose error has this text in it, in capital or small letters. Searched for ' +
        'like `task`.',
    }),
  ),
  workflow_id: Type.Optional(Type.String({ description: 'Only the jobs of this workflow.' })),
  idempotency_key: Type.Optional(Type.String({ description: 'Only the job created with this key.' })),
};

export const JobListQuery = Type.Object({
  ...jobFilterFields,
  parent_job_id: Type.Optional(Type.String({ description: 'Only the children of this job.' })),
  [`${METADATA_PREFIX}{field}`]: Type.Optional(
    Type.String({
      description:
        'Only jobs whose metadata has exactly this value in the field: `metadata.source=signup`. One field of the ' +
        'first level; numbers and other values are compared by how they were sent. Searched for like `task`.',
    }),
  ),
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

const {
  payload: _payload,
  result: _result,
  metadata: _metadata,
  error_details: _details,
  ...summaryFields
} = Job.properties;

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
