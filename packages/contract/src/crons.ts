import { Type, type Static } from 'typebox';
import { CLAMPED, listQueryFields, ORDERS, page, warnings } from './common.js';
import { ScheduleJobConfig } from './job-config.js';
import {
  callerObject,
  filledText,
  instant,
  NAME_MAX_LENGTH,
  nameText,
  nullable,
  oneOf,
  optional,
  ref,
  uuid,
} from './schema.js';
import { workflowFields } from './workflows.js';

/** Firings kept per schedule: the newest ones. */
export const CRON_FIRINGS_KEPT = 1_000;

/** The time zone of an expression that names none. */
export const DEFAULT_TIME_ZONE = 'UTC';

const TIME_ZONE =
  'IANA name of the time zone of the expression; case does not matter. If the hour is fixed, a time ' +
  'that a clock change skips fires at the change, and one that it repeats fires once; if every hour matches, the ' +
  'schedule follows elapsed time.';

const CRON_EXPR =
  'Crontab expression: 5 fields; 6 with the seconds first; 7 with the seconds first and the year last; or a nickname ' +
  'such as `@hourly`. If both day of month and day of week are restricted, a day matches if either does.';

export const CRON_OVERLAPS = ['allow', 'skip'] as const;
export type CronOverlap = (typeof CRON_OVERLAPS)[number];

export const ScheduledWorkflow = Type.Object(workflowFields, {
  title: 'ScheduledWorkflow',
  description:
    'The workflow that each firing starts, as in `POST /workflows`: in place of `task_name`, `payload`, `queue` and ' +
    '`config`. As a whole it may be as large as a payload. Answers fill in the defaults, and can be sent again.',
});
export type ScheduledWorkflow = Static<typeof ScheduledWorkflow>;

const cronFields = {
  cron_expr: filledText({ description: CRON_EXPR, examples: ['0 9 * * 1-5'] }),
  timezone: optional(filledText({ default: DEFAULT_TIME_ZONE, description: TIME_ZONE, examples: ['Europe/Berlin'] })),
  task_name: optional(
    nameText({
      description: 'Task of the job that each firing enqueues; required unless it starts a workflow.',
      examples: ['build_report'],
    }),
  ),
  workflow: optional(ScheduledWorkflow),
  payload: optional(callerObject({ description: 'Payload of every job of this schedule; `{}` if omitted.' })),
  queue: optional(filledText({ description: "Queue to enqueue on; the server's default queue if omitted." })),
  config: optional(ScheduleJobConfig),
  overlap: optional(
    oneOf(CRON_OVERLAPS, {
      default: 'allow',
      description:
        '`skip`: an occurrence enqueues nothing while the job or workflow of the last firing has not ended, and is ' +
        'recorded as skipped. A trigger by hand ignores it.',
    }),
  ),
};

export const CreateCron = Type.Object(
  { name: nameText({ description: 'Unique per tenant.', examples: ['nightly-report'] }), ...cronFields },
  {
    $id: 'CreateCron',
    description: 'A schedule to create. A `queue` inside `config` is ignored.',
    examples: [{ name: 'nightly-report', cron_expr: '0 3 * * *', task_name: 'build_report', payload: { day: 'prev' } }],
  },
);
export type CreateCron = Static<typeof CreateCron>;

export const PutCron = Type.Object(
  { name: optional(nameText({ description: 'If given, the name in the path.' })), ...cronFields },
  {
    $id: 'PutCron',
    description: 'The schedule to store under a name. Omitted fields take their defaults, not their former values.',
    examples: [{ cron_expr: '0 3 * * *', timezone: 'Europe/Berlin', task_name: 'build_report' }],
  },
);
export type PutCron = Static<typeof PutCron>;

export const CronNameParams = Type.Object({
  id: Type.String({ description: 'The name of the schedule, percent-encoded; not its id.' }),
});

export const CronCreated = Type.Object(
  { cron_id: uuid({ description: 'Identifier of the schedule.' }), warnings },
  { $id: 'CronCreated' },
);
export type CronCreated = Static<typeof CronCreated>;

export const Cron = Type.Object(
  {
    id: uuid({ description: 'Identifier assigned by the service.' }),
    name: Type.String({ description: 'Unique per tenant.' }),
    cron_expr: Type.String({ description: 'The expression as given.' }),
    timezone: Type.String({ description: 'IANA name of the time zone of the expression, as given; `UTC` by default.' }),
    task_name: nullable(
      Type.String({ description: 'Task of the job that each firing enqueues; null if it starts a workflow.' }),
    ),
    workflow: nullable(ScheduledWorkflow),
    payload: callerObject({ description: 'Payload of every job of this schedule.' }),
    queue_name: nullable(
      Type.String({ description: 'Queue that the jobs are enqueued on; null if it starts a workflow.' }),
    ),
    config: ScheduleJobConfig,
    overlap: oneOf(CRON_OVERLAPS, {
      description: 'Whether an occurrence is skipped while the job or workflow of the last firing has not ended.',
    }),
    enabled: Type.Boolean({ description: 'False while the schedule is paused, and after its last occurrence.' }),
    next_run_at: nullable(
      instant({
        description:
          'Next occurrence; null after the last one. While the schedule is paused this is the occurrence that was ' +
          'next when it was paused; resuming replaces it with the next one in the future.',
      }),
    ),
    last_enqueued_at: nullable(
      instant({
        description:
          'When the schedule last enqueued a job or started a workflow, triggered ones included; null if it never has.',
      }),
    ),
    created_at: instant({ description: 'When the schedule was created.' }),
    tenant_id: Type.String({ description: 'The tenant that owns the schedule.' }),
  },
  {
    $id: 'Cron',
    description: 'A schedule that enqueues a job, or starts a workflow, at each of its occurrences.',
    examples: [
      {
        id: '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10',
        name: 'nightly-report',
        cron_expr: '0 3 * * *',
        timezone: 'UTC',
        task_name: 'build_report',
        workflow: null,
        payload: { day: 'prev' },
        queue_name: 'default',
        config: { max_retries: 5, timeout_secs: 60 },
        overlap: 'allow',
        enabled: true,
        next_run_at: '2026-02-01T03:00:00Z',
        last_enqueued_at: '2026-01-31T03:00:00.004211Z',
        created_at: '2026-01-30T09:12:00.123456Z',
        tenant_id: 'acme',
      },
    ],
  },
);
export type Cron = Static<typeof Cron>;

export const CronPage = page('crons', ref(Cron), { $id: 'CronPage', description: 'One page of schedules.' });
export type CronPage = Static<typeof CronPage>;

export const CRON_ORDERS = [...ORDERS, 'next_run_at ASC'] as const;
export type CronOrder = (typeof CRON_ORDERS)[number];

export const CronListQuery = Type.Object({
  ...listQueryFields,
  order_by: Type.Optional(
    oneOf(CRON_ORDERS, {
      default: 'created_at DESC',
      description:
        'Oldest or newest first, or what fires next first: schedules that are paused or have ended then come last. ' +
        'Equal ones are in order of id.',
    }),
  ),
});

export const CronTriggered = Type.Object(
  {
    job_id: Type.Optional(uuid({ description: 'The job that was enqueued.' })),
    workflow_id: Type.Optional(uuid({ description: 'The workflow that was started, by a schedule that has one.' })),
  },
  { $id: 'CronTriggered', description: 'What a trigger created: one of the two.' },
);
export type CronTriggered = Static<typeof CronTriggered>;

export const CRON_FIRING_KINDS = ['on_time', 'catch_up', 'triggered', 'skipped'] as const;
export type CronFiringKind = (typeof CRON_FIRING_KINDS)[number];

export const CronFiring = Type.Object(
  {
    occurrence: instant({ description: 'The instant at which the schedule was due; if triggered, `fired_at`.' }),
    fired_at: instant({ description: 'When the job was enqueued or the workflow started, or the occurrence skipped.' }),
    kind: oneOf(CRON_FIRING_KINDS, {
      description:
        '`catch_up` if no server was running to fire it in time: it then stands for every occurrence missed up to ' +
        '`fired_at`. `triggered` if it was requested by hand, in addition to the timetable. `skipped` if the job or ' +
        'workflow of the last firing had not ended (`overlap`).',
    }),
    job_id: nullable(
      uuid({ description: 'The job that was enqueued; null if none was. Retention may have removed it.' }),
    ),
    workflow_id: nullable(
      uuid({ description: 'The workflow that was started; null if none was. Retention may have removed it.' }),
    ),
  },
  {
    $id: 'CronFiring',
    description: 'One firing of a schedule.',
    examples: [
      {
        occurrence: '2026-01-31T03:00:00Z',
        fired_at: '2026-01-31T03:00:00.004211Z',
        kind: 'on_time',
        job_id: '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10',
        workflow_id: null,
      },
    ],
  },
);
export type CronFiring = Static<typeof CronFiring>;

export const CronFiringPage = page('firings', ref(CronFiring), {
  $id: 'CronFiringPage',
  description: `One page of a schedule's firings. The newest ${CRON_FIRINGS_KEPT} are kept.`,
});
export type CronFiringPage = Static<typeof CronFiringPage>;

export const NEXT_RUNS_LIMITS = { minimum: 1, maximum: 100, default: 10 } as const;

export const NextRunsQuery = Type.Object({
  count: Type.Optional(
    Type.Integer({
      ...NEXT_RUNS_LIMITS,
      description: `How many occurrences to compute. ${CLAMPED}`,
    }),
  ),
});

export const NextRuns = Type.Object(
  {
    next_run_at: Type.Array(instant(), {
      description: 'Earliest first; fewer than requested if the expression has no more.',
    }),
    warnings,
  },
  {
    $id: 'NextRuns',
    description: 'The next occurrences; for a paused schedule, those it would have if it were resumed now.',
    examples: [{ next_run_at: ['2026-02-01T03:00:00Z', '2026-02-02T03:00:00Z'] }],
  },
);
export type NextRuns = Static<typeof NextRuns>;

/** How many instants a preview shows. */
export const PREVIEW_COUNT = 5;

export const CronPreviewQuery = Type.Object({
  expr: Type.String({ maxLength: NAME_MAX_LENGTH, description: CRON_EXPR }),
  timezone: Type.Optional(Type.String({ default: DEFAULT_TIME_ZONE, description: TIME_ZONE })),
});

export const CronPreview = Type.Object(
  { next: Type.Array(instant(), { description: 'Earliest first; fewer than five if the expression has no more.' }) },
  {
    $id: 'CronPreview',
    description: 'When a schedule with this expression and time zone would fire, if it were created now.',
    examples: [{ next: ['2026-02-01T03:00:00Z', '2026-02-02T03:00:00Z'] }],
  },
);
export type CronPreview = Static<typeof CronPreview>;
