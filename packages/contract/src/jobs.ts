import { Type, type Static } from 'typebox';
import { listQueryFields, page } from './common.js';
import { JobConfig, JobConfigInput } from './job-config.js';
import { callerObject, instant, nameText, nullable, oneOf, optional, ref, uuid } from './schema.js';

export const JOB_STATUSES = ['pending', 'running', 'retrying', 'completed', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** States a job never leaves. */
export const TERMINAL_JOB_STATUSES = ['completed', 'failed', 'cancelled'] as const satisfies readonly JobStatus[];

export const BATCH_LIMITS = { minimum: 1, maximum: 1000 } as const;
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;
/** Keys that begin so belong to the service (cron firings); a client that sends one is refused. */
export const RESERVED_KEY_PREFIX = 'millrace:';

export const JobStatusSchema = oneOf(JOB_STATUSES, {
  description: '`completed`, `failed` and `cancelled` are final.',
});

export const Job = Type.Object(
  {
    id: uuid({ description: 'Identifier given by the service.' }),
    queue_name: Type.String({ description: 'The queue the job lives on.' }),
    task_name: Type.String({ description: 'Handler to run: one built into the server or one a remote worker knows.' }),
    payload: callerObject({
      description: 'Handed to the handler, exactly as it was sent. Workflow steps also receive the key `_context`.',
    }),
    config: ref(JobConfig),
    status: JobStatusSchema,
    result: nullable(callerObject({ description: 'What the handler returned on success.' })),
    error_message: nullable(Type.String({ description: 'The last reported failure.' })),
    retry_count: Type.Integer({ description: 'Retries consumed so far.' }),
    delivery_count: Type.Integer({ description: 'How many times a worker has claimed the job.' }),
    created_at: instant({ description: 'When the job was created.' }),
    scheduled_at: instant({
      description: 'When the job becomes claimable: at once, at `run_at`, or at the end of its backoff while retrying.',
    }),
    started_at: nullable(instant({ description: 'Start of the latest attempt.' })),
    completed_at: nullable(instant({ description: 'When the job reached a final state, whichever it is.' })),
    next_retry_at: nullable(instant({ description: 'Equal to scheduled_at while retrying, otherwise null.' })),
    idempotency_key: nullable(Type.String({ description: 'The key that made its creation idempotent.' })),
    workflow_id: nullable(Type.String({ description: 'Set when the job executes a workflow step.' })),
    workflow_step_id: nullable(Type.String({ description: 'Name of that step.' })),
    tenant_id: Type.String({ description: 'The tenant that owns the job.' }),
    metadata: callerObject({ description: "The caller's own notes, stored as they were sent." }),
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
        config: {
          priority: 0,
          max_retries: 3,
          timeout_secs: 300,
          retry_backoff: 'exponential',
          retry_delay_secs: 60,
          retry_max_delay_secs: 3600,
          jitter_factor: 0.1,
        },
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
      },
    ],
  },
);
export type Job = Static<typeof Job>;

export const CreateJob = Type.Object(
  {
    task_name: nameText({
      description: 'Handler to run: one built into the server or one a remote worker knows. Not blank.',
      examples: ['send_welcome'],
    }),
    payload: optional(
      callerObject({ description: 'Handed to the handler; `{}` when left out.', examples: [{ user_id: 42 }] }),
    ),
    config: optional(JobConfigInput),
    run_at: optional(
      instant({
        description: 'Earliest start, RFC 3339 with an offset or Z. A past instant makes the job claimable at once.',
        examples: ['2026-01-31T09:00:00Z'],
      }),
    ),
    metadata: optional(
      callerObject({
        description: 'Notes of your own, stored and returned as sent.',
        examples: [{ source: 'signup' }],
      }),
    ),
  },
  {
    $id: 'CreateJob',
    description: 'A job to create. Only `task_name` is required; unknown fields are ignored.',
    examples: [{ task_name: 'send_welcome', payload: { user_id: 42 }, config: { queue: 'emails', max_retries: 5 } }],
  },
);
export type CreateJob = Static<typeof CreateJob>;

export const CreateJobBatch = Type.Object(
  {
    jobs: Type.Array(ref(CreateJob), {
      minItems: BATCH_LIMITS.minimum,
      maxItems: BATCH_LIMITS.maximum,
      description: 'Created all together or not at all.',
    }),
  },
  { $id: 'CreateJobBatch', examples: [{ jobs: [{ task_name: 'echo', payload: { n: 1 } }, { task_name: 'log' }] }] },
);
export type CreateJobBatch = Static<typeof CreateJobBatch>;

export const CreateJobHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      description:
        'Creating again with the same key returns the first job, whatever the body says. Trimmed; empty means none; ' +
        `at most ${IDEMPOTENCY_KEY_MAX_LENGTH} characters; must not begin with \`${RESERVED_KEY_PREFIX}\`.`,
    }),
  ),
});

export const JobCreated = Type.Object(
  { job_id: uuid({ description: 'The job, or on a repeated idempotency key the one created first.' }) },
  { $id: 'JobCreated' },
);
export type JobCreated = Static<typeof JobCreated>;

export const JobBatchCreated = Type.Object(
  {
    job_ids: Type.Array(uuid(), { description: 'In the order of the request.' }),
    count: Type.Integer({ description: 'How many jobs were created.' }),
  },
  { $id: 'JobBatchCreated' },
);
export type JobBatchCreated = Static<typeof JobBatchCreated>;

export const JobListQuery = Type.Object({
  status: Type.Optional(oneOf(JOB_STATUSES, { description: 'Only jobs in this state.' })),
  queue: Type.Optional(Type.String({ description: 'Only jobs on this queue.' })),
  ...listQueryFields,
});

export const JobPage = page('jobs', ref(Job), { $id: 'JobPage', description: 'One page of jobs.' });
export type JobPage = Static<typeof JobPage>;
