import { shownSettings } from './limits.js';
import { Type, type Static, type TInteger, type TUnsafe } from 'typebox';
import { CLAMPED, Count, warnings } from './common.js';
import { JOB_STATES, type JobState } from './jobs.js';
import { instant, nullable, oneOf, ref, uuid } from './schema.js';
import { WORKFLOW_STATUSES, type WorkflowStatus } from './workflows.js';

export const Health = Type.Object(
  {
    status: Type.Literal('healthy'),
    timestamp: instant({ description: "The server's clock." }),
    version: Type.String({ description: 'Version of the running server.', examples: ['0.2.0'] }),
  },
  { $id: 'Health', description: 'The process is up. Says nothing about the database.' },
);
export type Health = Static<typeof Health>;

export const Ready = Type.Object(
  {
    status: Type.Literal('ready'),
    cells: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), up: Type.Boolean() }), {
        description: 'Of a service on several databases: which of them answer.',
      }),
    ),
  },
  { $id: 'Ready' },
);
export type Ready = Static<typeof Ready>;

const counter = (description: string): TInteger => Type.Integer({ description });

export const Stats = Type.Object(
  {
    jobs_created: counter('Jobs created.'),
    jobs_completed: counter('Jobs completed.'),
    jobs_failed: counter('Jobs that failed for good.'),
    jobs_retried: counter('Failed attempts followed by a retry.'),
    jobs_dead_lettered: counter('Dead letters written.'),
    jobs_cancelled: counter('Jobs cancelled.'),
    workflows_created: counter('Workflows created.'),
    workflows_completed: counter('Workflows completed.'),
    workflows_failed: counter('Workflows that failed, wholly or in part.'),
  },
  {
    $id: 'Stats',
    description: "What this process has done for the caller's tenant since it started.",
  },
);
export type Stats = Static<typeof Stats>;

export const Tasks = Type.Object(
  {
    tasks: Type.Array(Type.String(), {
      description: 'Names of the tasks that servers have handlers for, sorted.',
      examples: [['echo', 'fail', 'log', 'sleep']],
    }),
  },
  { $id: 'Tasks' },
);
export type Tasks = Static<typeof Tasks>;

export const QueueDepth = Type.Object(
  {
    queue: Type.String({ description: 'Name of the queue.' }),
    pending: Type.Integer({ description: 'Jobs that can be claimed now, including retries that are due.' }),
    scheduled: Type.Integer({ description: 'Jobs that are not due yet.' }),
    running: Type.Integer({ description: 'Jobs that a worker holds under a lease.' }),
    oldest_pending_age_secs: nullable(
      Type.Integer({
        description:
          'How long the longest-waiting claimable job has been claimable, in whole seconds, from its due time or its ' +
          'creation, whichever is later; null if there is none.',
      }),
    ),
    retrying: Type.Integer({ description: 'How many of `pending` and `scheduled` have failed before.' }),
    retrying_later: Type.Integer({
      description: 'How many of `retrying` are not due yet: those among `scheduled`. The others are among `pending`.',
    }),
    paused_at: nullable(instant({ description: 'Since when the operator has paused the queue; null if it is not.' })),
    paused_reason: nullable(
      Type.String({ description: 'Why, as far as the operator said; null if it is not paused.' }),
    ),
    paused_by: nullable(
      Type.String({ description: "Who did: the name of an operator's token, or `admin`; null if it is not paused." }),
    ),
    last_lease_at: nullable(
      instant({ description: 'When a worker last asked for jobs of the queue; null if none has within the last day.' }),
    ),
    settings: shownSettings,
  },
  { $id: 'QueueDepth' },
);
export type QueueDepth = Static<typeof QueueDepth>;

/** A page has all queues of all but a few tenants. */
export const QUEUE_PAGE_LIMITS = { minimum: 1, maximum: 1000, default: 1000 } as const;

export const QueueListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ ...QUEUE_PAGE_LIMITS, description: `Page size. ${CLAMPED}` })),
  cursor: Type.Optional(
    Type.String({ description: 'The `next_cursor` of another page: the listing continues there.' }),
  ),
  idle: Type.Optional(
    Type.Boolean({
      description:
        "List queues that hold nothing now, too: those of the last 60 days, as far as the tenant's series name them.",
    }),
  ),
});

export const Queues = Type.Object(
  {
    queues: Type.Array(ref(QueueDepth), {
      description:
        "Queues that hold unfinished jobs of the caller's tenant, and with `idle` those that held some lately, in " +
        'the order of their names.',
    }),
    has_more: Type.Optional(Type.Boolean({ description: 'True if another page follows; absent on the last page.' })),
    next_cursor: Type.Optional(
      Type.String({ description: 'Pass it as `cursor` to get the next page. Absent on the last page.' }),
    ),
    warnings,
  },
  { $id: 'Queues' },
);
export type Queues = Static<typeof Queues>;

export const QueueDetail = Type.Object(
  {
    ...QueueDepth.properties,
    by_task: Type.Array(
      Type.Object({
        task_name: Type.String(),
        waiting: Type.Integer({ description: 'Jobs of the task that are due and wait for a worker.' }),
        scheduled: Type.Integer({ description: 'Jobs of the task that are not due yet.' }),
        retrying: Type.Integer({ description: 'How many of `waiting` and `scheduled` have failed before.' }),
        retrying_later: Type.Integer({ description: 'How many of `retrying` are among `scheduled`.' }),
        running: Type.Integer({ description: 'Jobs of the task that a worker holds.' }),
      }),
      { description: "The caller's jobs by task, the largest first. Counted up to a bound." },
    ),
    by_task_exact: Type.Boolean({ description: 'Whether all jobs were counted for `by_task`.' }),
    next: Type.Array(
      Type.Object({
        id: uuid(),
        task_name: Type.String(),
        priority: Type.Integer(),
        scheduled_at: instant({ description: 'When it became or becomes due.' }),
      }),
      { description: "The caller's first jobs in claim order." },
    ),
    slots: nullable(
      Type.Object(
        {
          offered: Type.Integer({ description: 'How many jobs the workers that asked lately can hold.' }),
          in_use: Type.Integer({
            description: 'How many jobs of the queue, of any tenant, they hold. Counted up to a bound.',
          }),
        },
        { description: 'What workers offer on the queue; null if none says.' },
      ),
    ),
  },
  { $id: 'QueueDetail' },
);
export type QueueDetail = Static<typeof QueueDetail>;

/** How many of its jobs a worker shows. */
export const WORKER_JOBS_SHOWN = 10;

export const Worker = Type.Object(
  {
    worker_id: Type.String({ description: 'The `worker_id` of its leases, or the name of a server process.' }),
    queue_name: Type.String({ description: 'The queue that it leases from.' }),
    running: Type.Integer({ description: "How many of the caller's jobs it holds." }),
    running_jobs: Type.Array(
      Type.Object({
        id: uuid(),
        task_name: Type.String(),
        queue: Type.String(),
        started_at: instant({ description: 'When the attempt started.' }),
      }),
      { description: `The jobs that it has held longest, at most ${WORKER_JOBS_SHOWN}.` },
    ),
    first_seen_at: instant({
      description:
        'Since when, within the last hour, it is known: what it did is counted from then on (to five minutes).',
    }),
    last_seen_at: instant({ description: 'When it last asked, leased, extended or reported.' }),
    completed: Type.Integer({ description: 'Jobs that it completed in the last hour.' }),
    failed: Type.Integer({ description: 'Attempts that it reported as failed in the last hour.' }),
    expired: Type.Integer({ description: 'Its leases that expired in the last hour.' }),
    slots: nullable(
      Type.Integer({ description: 'How many jobs of the queue it can hold; null if it has not said so lately.' }),
    ),
    in_use: nullable(
      Type.Integer({
        description:
          'How many of `slots` are taken, by jobs of any tenant; null like `slots`. A job whose end is being ' +
          'reported takes none. Counted up to a bound.',
      }),
    ),
    tasks: nullable(
      Type.Array(Type.String(), {
        description:
          'The tasks that it has handlers for; null if it has not said so lately, or has held none of the jobs that the ' +
          'caller may see.',
      }),
    ),
  },
  { $id: 'Worker', description: 'A worker on one queue.' },
);
export type Worker = Static<typeof Worker>;

export const Workers = Type.Object(
  {
    workers: Type.Array(ref(Worker), {
      description:
        "Those that held jobs of the caller's tenant in the last hour, and those that asked for jobs of queues where it " +
        'has jobs and said what they can hold or know; the last seen first.',
    }),
    warnings,
  },
  { $id: 'Workers' },
);
export type Workers = Static<typeof Workers>;

const countOf = <K extends string>(states: readonly K[], describe: (state: K) => string): TUnsafe<Record<K, Count>> =>
  Type.Unsafe<Record<K, Count>>({
    type: 'object',
    required: [...states],
    properties: Object.fromEntries(
      states.map((state) => [state, { allOf: [{ $ref: 'Count#' }], description: describe(state) }]),
    ),
  });

const stateNames = Object.keys(JOB_STATES) as JobState[];

/** How far a count is exact. */
export const COUNT_EXACT_LIMIT = 10_000;

export const CountsQuery = Type.Object({
  queue: Type.Optional(
    Type.String({ description: 'Only jobs and dead letters of this queue. Ends are then those of the last 60 days.' }),
  ),
});

export const Counts = Type.Object(
  {
    jobs: countOf(stateNames, (state) => JOB_STATES[state]),
    dead_letters: ref(Count),
    workflows: countOf<WorkflowStatus>(WORKFLOW_STATUSES, (status) => `Workflows that are ${status}.`),
    warnings,
  },
  {
    $id: 'Counts',
    description: `How much there is in each state; each job counts once. Exact up to ${COUNT_EXACT_LIMIT}.`,
  },
);
export type Counts = Static<typeof Counts>;

export const PRINCIPAL_KINDS = ['tenant', 'worker', 'admin', 'developer'] as const;
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

/** What a server can do beyond the plain protocol. Clients fall back where a name is missing. */
export const FEATURES = [
  'reports',
  'heartbeats',
  'release',
  'progress',
  'wait',
  'idempotency',
  'item_keys',
  'strict',
  'durable',
  'step_rules',
  'logs',
] as const;
export type Feature = (typeof FEATURES)[number];

export const WhoAmI = Type.Object(
  {
    kind: oneOf(PRINCIPAL_KINDS, {
      description: 'What the credential is. `developer`: any token, on a server started with `--dev`.',
    }),
    tenant_id: nullable(Type.String({ description: 'The tenant it acts for; null for workers and operators.' })),
    read_only: Type.Boolean({ description: 'Whether it may only read.' }),
    expires_at: Type.Optional(instant({ description: 'When it expires, if it does.' })),
    read_by: Type.Optional(
      Type.String({
        description: 'The operator who reads as this tenant, with the admin token and `Millrace-Tenant`.',
      }),
    ),
    dev: Type.Boolean({ description: 'Whether the server runs in development mode.' }),
    version: Type.String({ description: 'Version of the server.' }),
    default_queue: Type.String({ description: 'The queue of jobs that name none.' }),
    retention_hours: nullable(Type.Number({ description: 'How long finished jobs are kept; null: for ever.' })),
    now: instant({ description: "The database's clock." }),
    trace_url: nullable(
      Type.String({
        description: 'Where traces are shown, with `{trace_id}` in the place of their id; null: the operator set none.',
      }),
    ),
    features: Type.Array(Type.String(), {
      description: `What the server can do beyond the plain protocol; today: ${FEATURES.join(', ')}.`,
    }),
  },
  { $id: 'WhoAmI', description: 'Who the caller is to this server.' },
);
export type WhoAmI = Static<typeof WhoAmI>;
