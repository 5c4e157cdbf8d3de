import { Type, type Static } from 'typebox';
import { listQueryFields, warnings } from './common.js';
import { instant, nullable, ref } from './schema.js';

/** How many limits a job may name. */
export const LIMITS_PER_JOB = { minItems: 1, maxItems: 2 } as const;
export const LIMIT_KEY_LENGTH = { minLength: 1, maxLength: 200 } as const;
export const LIMIT_RUNNING = { minimum: 1, maximum: 10_000 } as const;
/** How far the jobs that wait for a key are counted. */
export const LIMIT_WAITING_COUNTED = 10_000;

const key = Type.Unsafe<string>({
  type: 'string',
  format: 'text',
  ...LIMIT_KEY_LENGTH,
  description: 'What is limited: a user, a partner, a resource. Belongs to the tenant and the queue of the job.',
  examples: ['user-7'],
});

export const LimitInput = Type.Object(
  { key, running: Type.Integer({ ...LIMIT_RUNNING, description: 'How many jobs of this key may run at a time.' }) },
  { title: 'Limit', examples: [{ key: 'user-7', running: 2 }] },
);
export type LimitInput = Static<typeof LimitInput>;

export const LimitsQuery = Type.Object({
  queue: Type.Optional(Type.String({ description: 'Only keys of this queue.' })),
  limit: listQueryFields.limit,
  cursor: listQueryFields.cursor,
});

const useFields = {
  queue: Type.String({ description: 'The queue that the key belongs to.' }),
  key: Type.String({ description: 'The key, as jobs name it.' }),
  running: Type.Integer({ description: 'How many jobs hold room: those that run, and those that may be claimed.' }),
  limit: Type.Integer({ description: 'How many may: the number of the newest job that named the key.' }),
  waiting: Type.Integer({
    description: `How many jobs wait in the line of this key, counted up to ${LIMIT_WAITING_COUNTED}.`,
  }),
  oldest: nullable(instant({ description: 'Since when the longest-waiting of them is due; null if none waits.' })),
};

export const LimitUse = Type.Object(useFields, {
  $id: 'LimitUse',
  description: 'A key that unfinished jobs have named as a limit, and how much of it is used.',
  examples: [
    { queue: 'exports', key: 'user-7', running: 2, limit: 2, waiting: 14, oldest: '2026-01-31T09:00:00.123456Z' },
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
