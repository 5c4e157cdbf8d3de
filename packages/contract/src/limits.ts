import { Type, type Static } from 'typebox';
import { listQueryFields, warnings } from './common.js';
import { instant, nullable, oneOf, optional, ref } from './schema.js';

/** How many limits a job may name. */
export const LIMITS_PER_JOB = { minItems: 1, maxItems: 2 } as const;
export const LIMIT_KEY_LENGTH = { minLength: 1, maxLength: 200 } as const;
export const LIMIT_RUNNING = { minimum: 1, maximum: 10_000 } as const;
export const RATE_LIMITS = {
  count: { minimum: 1, maximum: 100_000 },
  per_secs: { minimum: 1, maximum: 86_400 },
  burst: { minimum: 1, maximum: 100_000, default: 1 },
} as const;
/** Between whom jobs of a queue may take turns. */
export const QUEUE_SHARES = ['tenant'] as const;
/** How far the jobs that wait for a key are counted. */
export const LIMIT_WAITING_COUNTED = 10_000;

const key = Type.Unsafe<string>({
  type: 'string',
  format: 'text',
  ...LIMIT_KEY_LENGTH,
  description: 'What is limited: a user, a partner, a resource. Belongs to the tenant and the queue of the job.',
  examples: ['user-7'],
});

export const RateInput = Type.Object(
  {
    count: Type.Integer({ ...RATE_LIMITS.count, description: 'How many jobs may start in `per_secs`, evenly spaced.' }),
    per_secs: Type.Integer({ ...RATE_LIMITS.per_secs, description: 'Seconds.' }),
    burst: optional(
      Type.Integer({
        ...RATE_LIMITS.burst,
        description: 'How many may start at once, after a pause. At most `count`.',
      }),
    ),
  },
  {
    title: 'Rate',
    description: 'In any span of `per_secs`, by the clock of the database, no more than `count` + `burst` jobs start.',
    examples: [{ count: 100, per_secs: 60 }],
  },
);
export type RateInput = Static<typeof RateInput>;

export const LimitInput = Type.Object(
  {
    key,
    running: optional(Type.Integer({ ...LIMIT_RUNNING, description: 'How many jobs of this key may run at a time.' })),
    rate: optional(RateInput),
  },
  {
    title: 'Limit',
    description: 'With `running`, `rate` or both.',
    examples: [
      { key: 'user-7', running: 2 },
      { key: 'stripe', rate: { count: 100, per_secs: 60 } },
    ],
  },
);
export type LimitInput = Static<typeof LimitInput>;

const settingFields = {
  running: nullable(
    Type.Integer({
      ...LIMIT_RUNNING,
      description: 'How many jobs of the queue may run at a time, of all tenants. Null: any number.',
    }),
  ),
  rate: nullable(RateInput),
  share: nullable(
    oneOf(QUEUE_SHARES, {
      description:
        '`tenant`: tenants take turns, however many jobs one of them has waiting. Null: first come, first served.',
    }),
  ),
};

/** What an operator sets for a queue. */
export const QueueSettingsInput = Type.Object(
  {
    running: Type.Optional(settingFields.running),
    rate: Type.Optional(settingFields.rate),
    share: Type.Optional(settingFields.share),
  },
  {
    title: 'QueueSettingsInput',
    description: 'A setting that is left out stays as it is; null removes it.',
    examples: [{ running: 50, rate: { count: 1000, per_secs: 60 }, share: 'tenant' }],
  },
);
export type QueueSettingsInput = Static<typeof QueueSettingsInput>;

export const QueueSettings = Type.Object(
  { queue: Type.String({ description: 'Name of the queue.' }), ...settingFields, warnings },
  {
    $id: 'QueueSettings',
    description:
      'What an operator has set for a queue. With several databases, `running` and `rate` hold in each of them for ' +
      'itself, and `warnings` say so.',
    examples: [{ queue: 'emails', running: 50, rate: { count: 1000, per_secs: 60, burst: 1 }, share: null }],
  },
);
export type QueueSettings = Omit<Static<typeof QueueSettings>, 'warnings'>;

/** The same as a part of what is shown of a queue. */
export const shownSettings = nullable(
  Type.Object(settingFields, { description: 'What an operator has set for the queue; null: nothing.' }),
);

export const LimitsQuery = Type.Object({
  queue: Type.Optional(Type.String({ description: 'Only keys of this queue.' })),
  limit: listQueryFields.limit,
  cursor: listQueryFields.cursor,
});

const useFields = {
  queue: Type.String({ description: 'The queue that the key belongs to.' }),
  key: Type.String({ description: 'The key, as jobs name it.' }),
  running: Type.Integer({ description: 'How many jobs hold room: those that run, and those that may be claimed.' }),
  limit: nullable(
    Type.Integer({ description: 'How many may, by the newest job that named the key. Null: any number.' }),
  ),
  rate: nullable(RateInput),
  waiting: Type.Integer({
    description: `How many jobs wait in the line of this key, counted up to ${LIMIT_WAITING_COUNTED}.`,
  }),
  oldest: nullable(instant({ description: 'Since when the longest-waiting of them is due; null if none waits.' })),
};

export const LimitUse = Type.Object(useFields, {
  $id: 'LimitUse',
  description: 'A key that unfinished jobs have named as a limit, and how much of it is used.',
  examples: [
    {
      ...{ queue: 'exports', key: 'user-7', running: 2, limit: 2, rate: null },
      ...{ waiting: 14, oldest: '2026-01-31T09:00:00.123456Z' },
    },
  ],
});
export type LimitUse = Static<typeof LimitUse>;

const pageFields = {
  has_more: Type.Boolean({ description: 'Whether another page follows.' }),
  next_cursor: Type.Optional(Type.String({ description: 'Pass it as `cursor` to get the next page.' })),
  warnings,
};

export const LimitPage = Type.Object(
  { limits: Type.Array(ref(LimitUse), { description: 'By queue, then by key.' }), ...pageFields },
  { $id: 'LimitPage' },
);
export type LimitPage = Static<typeof LimitPage>;

export const AdminLimitUse = Type.Object(
  { tenant_id: Type.String({ description: 'The tenant that the key belongs to.' }), ...useFields },
  { $id: 'AdminLimitUse', description: 'The same, for an operator.' },
);
export type AdminLimitUse = Static<typeof AdminLimitUse>;

export const AdminLimitPage = Type.Object(
  { limits: Type.Array(ref(AdminLimitUse), { description: 'By tenant, queue and key.' }), ...pageFields },
  { $id: 'AdminLimitPage' },
);
export type AdminLimitPage = Static<typeof AdminLimitPage>;
