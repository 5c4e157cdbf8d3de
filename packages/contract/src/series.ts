import { Type, type Static, type TArray, type TInteger, type TUnsafe } from 'typebox';
import { warnings } from './common.js';
import { instant, nullable } from './schema.js';

/** The resolutions that are kept, finest first, and for how long. */
export const SERIES_STEPS = [
  { step_secs: 15, keep_secs: 3_600 },
  { step_secs: 300, keep_secs: 172_800 },
  { step_secs: 3_600, keep_secs: 5_184_000 },
] as const;

/** How many pairs of queue and task a tenant has series for; the rest is added up under SERIES_OTHER. */
export const SERIES_PER_TENANT = 100;
export const SERIES_OTHER = 'other';

export const SeriesQuery = Type.Object({
  queue: Type.Optional(Type.String({ description: 'Only this queue.' })),
  task: Type.Optional(Type.String({ description: 'Only this task.' })),
  from: Type.Optional(instant({ description: 'Start of the plot; an hour before `to` if omitted.' })),
  to: Type.Optional(instant({ description: 'End of the plot; now if omitted.' })),
});

const counts = (description: string): TArray<TInteger> => Type.Array(Type.Integer(), { description });
const seconds = (description: string): TArray<TUnsafe<number | null>> =>
  Type.Array(nullable(Type.Number()), { description: `${description}, in seconds; null where there was none.` });

export const Series = Type.Object(
  {
    from: instant({ description: 'Start of the first step.' }),
    step_secs: Type.Integer({ description: 'Length of each step.' }),
    columns: Type.Object({
      created: counts('Jobs created, by step.'),
      completed: counts('Jobs completed.'),
      failed: counts('Jobs that failed for good.'),
      retried: counts('Failed attempts followed by a retry.'),
      wait_p50: seconds(
        'Half of the attempts waited at most this long until they were claimed: from the latest of when they were ' +
          'due, when the job was created and when the attempt before ended',
      ),
      wait_p95: seconds('95 per cent of the attempts waited at most this long'),
      wait_p99: seconds('99 per cent of the attempts waited at most this long'),
      run_p50: seconds('Half of the attempts ran at most this long'),
      run_p95: seconds('95 per cent of the attempts ran at most this long'),
      run_p99: seconds('99 per cent of the attempts ran at most this long'),
    }),
    warnings,
  },
  {
    $id: 'Series',
    description: 'What happened over time. Every process adds up in memory and writes every 15 seconds.',
  },
);
export type Series = Static<typeof Series>;

/** How many tenants a plot by tenant names. */
export const SERIES_TENANTS_SHOWN = 8;

export const AdminSeriesQuery = Type.Object({
  queue: SeriesQuery.properties.queue,
  from: SeriesQuery.properties.from,
  to: SeriesQuery.properties.to,
});

export const AdminSeries = Type.Object(
  {
    from: instant({ description: 'Start of the first step.' }),
    step_secs: Type.Integer({ description: 'Length of each step.' }),
    tenants: Type.Array(
      Type.Object({
        tenant_id: Type.String(),
        ended: counts('Jobs of the tenant that completed or failed for good, by step.'),
      }),
      { description: `The ${SERIES_TENANTS_SHOWN} tenants for whom most jobs ended, the largest first.` },
    ),
    others: counts('Jobs of all other tenants, by step.'),
    counted_from: nullable(
      instant({ description: 'There were too many series to read: nothing is counted before it. Null: all is.' }),
    ),
    warnings,
  },
  { $id: 'AdminSeries', description: 'Whose jobs ended over time.' },
);
export type AdminSeries = Static<typeof AdminSeries>;
