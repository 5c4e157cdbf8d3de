import { Type, type Static } from 'typebox';
import { listQueryFields, ORDERS, page } from './common.js';
import { PartialJobConfig } from './job-config.js';
import { callerObject, instant, nameText, nullable, oneOf, optional, ref, uuid } from './schema.js';

export const CRON_EXPR_LENGTH = 255;
export const DEFAULT_TIME_ZONE = 'UTC';

const TIME_ZONE =
  'Name from the IANA time zone database in whose local time the expression is meant; upper and lower case are the ' +
  'same. With a fixed hour, a time that a clock change skips fires at the change, and one that it repeats fires once; ' +
  'when every hour matches, the schedule follows elapsed time.';

const CRON_EXPR =
  'Crontab expression: 5 fields, 6 with leading seconds, 7 with seconds first and the year last, or a nickname such ' +
  'as `@hourly`. When day of month and day of week are both restricted, either matches.';

const cronFields = {
  cron_expr: Type.Unsafe<string>({
    type: 'string',
    format: 'text',
    minLength: 1,
    maxLength: CRON_EXPR_LENGTH,
    description: CRON_EXPR,
    examples: ['0 9 * * 1-5'],
  }),
  timezone: optional(
    Type.Unsafe<string>({
      type: 'string',
      format: 'text',
      minLength: 1,
      maxLength: 255,
      default: DEFAULT_TIME_ZONE,
      description: TIME_ZONE,
      examples: ['Europe/Berlin'],
    }),
  ),
  task_name: nameText({ description: 'Handler enqueued on each firing.', examples: ['build_report'] }),
  payload: optional(callerObject({ description: 'Sent with every firing; `{}` when left out.' })),
  queue: optional(
    Type.Unsafe<string>({
      type: 'string',
      format: 'text',
      minLength: 1,
      maxLength: 255,
      description: "Destination queue; the server's default queue when left out.",
    }),
  ),
  config: optional(PartialJobConfig),
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
    description: 'What the schedule of a name is to be. What is left out takes its default, not its former value.',
    examples: [{ cron_expr: '0 3 * * *', timezone: 'Europe/Berlin', task_name: 'build_report' }],
  },
);
export type PutCron = Static<typeof PutCron>;

export const CronNameParams = Type.Object({
  id: Type.String({ description: 'The name of the schedule, percent-encoded; not its id.' }),
});

export const CronCreated = Type.Object(
  { cron_id: uuid({ description: 'Identifier of the schedule.' }) },
  { $id: 'CronCreated' },
);
export type CronCreated = Static<typeof CronCreated>;

export const Cron = Type.Object(
  {
    id: uuid({ description: 'Identifier given by the service.' }),
    name: Type.String({ description: 'Unique per tenant.' }),
    cron_expr: Type.String({ description: 'The expression as it was given.' }),
    timezone: Type.String({ description: 'The IANA time zone of the expression, as it was given; `UTC` by default.' }),
    task_name: Type.String({ description: 'Handler enqueued on each firing.' }),
    payload: callerObject({ description: 'Sent with every firing.' }),
    queue_name: Type.String({ description: 'Destination queue.' }),
    config: PartialJobConfig,
    enabled: Type.Boolean({ description: 'False while paused, and after the last occurrence.' }),
    next_run_at: nullable(
      instant({
        description:
          'Next firing; null after the last occurrence. Of a paused schedule it is the one it was paused before; ' +
          'resuming moves it ahead of now.',
      }),
    ),
    last_enqueued_at: nullable(instant({ description: 'Last firing that enqueued a job, triggered ones included.' })),
    created_at: instant({ description: 'Creation instant.' }),
    tenant_id: Type.String({ description: 'The tenant that owns the schedule.' }),
  },
  {
    $id: 'Cron',
    description: 'A recurring timetable that enqueues jobs.',
    examples: [
      {
        id: '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10',
        name: 'nightly-report',
        cron_expr: '0 3 * * *',
        timezone: 'UTC',
        task_name: 'build_report',
        payload: { day: 'prev' },
        queue_name: 'default',
        config: { max_retries: 5, timeout_secs: 60 },
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
  { job_id: uuid({ description: 'The job that was enqueued.' }) },
  { $id: 'CronTriggered' },
);
export type CronTriggered = Static<typeof CronTriggered>;

export const CRON_FIRING_KINDS = ['on_time', 'catch_up', 'triggered'] as const;
export type CronFiringKind = (typeof CRON_FIRING_KINDS)[number];

export const CronFiring = Type.Object(
  {
    occurrence: instant({ description: 'The instant the schedule called for; `fired_at` when it was triggered.' }),
    fired_at: instant({ description: 'When the job was enqueued.' }),
    kind: oneOf(CRON_FIRING_KINDS, {
      description:
        '`catch_up` when nobody was there to fire it in time: it stands for every occurrence missed until `fired_at`. ' +
        '`triggered` when it was asked for by hand, beside the timetable.',
    }),
    job_id: uuid({ description: 'The job that was enqueued. It may be gone after retention.' }),
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
      },
    ],
  },
);
export type CronFiring = Static<typeof CronFiring>;

export const CronFiringPage = page('firings', ref(CronFiring), {
  $id: 'CronFiringPage',
  description: 'One page of the firings that are remembered: the newest thousand of a schedule.',
});
export type CronFiringPage = Static<typeof CronFiringPage>;

export const NEXT_RUNS_LIMITS = { minimum: 1, maximum: 100, default: 10 } as const;

export const NextRunsQuery = Type.Object({
  count: Type.Optional(
    Type.Integer({ ...NEXT_RUNS_LIMITS, description: 'How many. Numbers outside the range are clamped into it.' }),
  ),
});

export const NextRuns = Type.Object(
  {
    next_run_at: Type.Array(instant(), {
      description: 'Earliest first; fewer than asked for when the expression ends before.',
    }),
  },
  {
    $id: 'NextRuns',
    description: 'Occurrences to come; of a paused schedule, those it would have if it were resumed now.',
    examples: [{ next_run_at: ['2026-02-01T03:00:00Z', '2026-02-02T03:00:00Z'] }],
  },
);
export type NextRuns = Static<typeof NextRuns>;

/** How many instants a preview shows. */
export const PREVIEW_COUNT = 5;

export const CronPreviewQuery = Type.Object({
  expr: Type.String({ maxLength: CRON_EXPR_LENGTH, description: CRON_EXPR }),
  timezone: Type.Optional(Type.String({ default: DEFAULT_TIME_ZONE, description: TIME_ZONE })),
});

export const CronPreview = Type.Object(
  { next: Type.Array(instant(), { description: 'Earliest first; fewer than five when the expression ends before.' }) },
  {
    $id: 'CronPreview',
    description: 'When a schedule with this expression and time zone would fire, if it were created now.',
    examples: [{ next: ['2026-02-01T03:00:00Z', '2026-02-02T03:00:00Z'] }],
  },
);
export type CronPreview = Static<typeof CronPreview>;
