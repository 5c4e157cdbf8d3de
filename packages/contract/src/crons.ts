import { Type, type Static } from 'typebox';
import { page } from './common.js';
import { PartialJobConfig } from './job-config.js';
import { callerObject, instant, nameText, nullable, optional, ref, uuid } from './schema.js';

export const CreateCron = Type.Object(
  {
    name: nameText({ description: 'Unique per tenant.', examples: ['nightly-report'] }),
    cron_expr: Type.Unsafe<string>({
      type: 'string',
      format: 'text',
      minLength: 1,
      maxLength: 255,
      description:
        'Crontab expression, evaluated in UTC: 5 fields, 6 with leading seconds, 7 with seconds first and the year ' +
        'last, or a nickname such as `@hourly`.',
      examples: ['0 9 * * 1-5'],
    }),
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
  },
  {
    $id: 'CreateCron',
    examples: [{ name: 'nightly-report', cron_expr: '0 3 * * *', task_name: 'build_report', payload: { day: 'prev' } }],
  },
);
export type CreateCron = Static<typeof CreateCron>;

export const CronCreated = Type.Object({ cron_id: uuid() }, { $id: 'CronCreated' });
export type CronCreated = Static<typeof CronCreated>;

export const Cron = Type.Object(
  {
    id: uuid({ description: 'Identifier given by the service.' }),
    name: Type.String({ description: 'Unique per tenant.' }),
    cron_expr: Type.String({ description: 'The expression as it was given.' }),
    task_name: Type.String({ description: 'Handler enqueued on each firing.' }),
    payload: callerObject({ description: 'Sent with every firing.' }),
    queue_name: Type.String({ description: 'Destination queue.' }),
    config: PartialJobConfig,
    enabled: Type.Boolean({ description: 'False while paused, and after the last occurrence.' }),
    next_run_at: nullable(instant({ description: 'Next firing; null after the last occurrence.' })),
    last_enqueued_at: nullable(instant({ description: 'Last firing that enqueued a job.' })),
    created_at: instant(),
    tenant_id: Type.String({ description: 'The tenant that owns the schedule.' }),
  },
  { $id: 'Cron', description: 'A recurring timetable that enqueues jobs.' },
);
export type Cron = Static<typeof Cron>;

export const CronPage = page('crons', ref(Cron), { $id: 'CronPage', description: 'One page of schedules.' });
export type CronPage = Static<typeof CronPage>;
