import { Type, type Static } from 'typebox';
import { LIMIT_KEY_LENGTH } from './limits.js';
import { oneOf, optional } from './schema.js';

export const UNIQUE_WHILES = ['waiting', 'unfinished'] as const;
export const UNIQUE_CONFLICTS = ['keep', 'replace'] as const;
/** How long a job may be put off by others of its key. */
export const MAX_WAIT_LIMITS = { minimum: 1, maximum: 31_536_000 } as const;

/** One job instead of several. */
export const UniqueInput = Type.Object(
  {
    key: Type.Unsafe<string>({
      type: 'string',
      format: 'text',
      ...LIMIT_KEY_LENGTH,
      description: 'What there should be only one job for. Belongs to the tenant and the queue.',
      examples: ['rebuild-7'],
    }),
    while: oneOf(UNIQUE_WHILES, {
      description:
        'How long a job holds the key: until it is first delivered (`waiting`), or until it has ended ' +
        '(`unfinished`).',
    }),
    on_conflict: optional(
      oneOf(UNIQUE_CONFLICTS, {
        default: 'keep',
        description:
          '`keep`: nothing is created. `replace`, with `waiting` only: the waiting job takes on the new task, ' +
          'payload, metadata, config and due time. Either way the answer has its id.',
      }),
    ),
    max_wait_secs: optional(
      Type.Integer({
        ...MAX_WAIT_LIMITS,
        description:
          'With `replace`: the job is due this long after it was first created at the latest, however often it is ' +
          'replaced.',
      }),
    ),
  },
  { title: 'Unique', examples: [{ key: 'rebuild-7', while: 'waiting' }] },
);
export type UniqueInput = Static<typeof UniqueInput>;
