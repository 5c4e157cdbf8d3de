import { Type, type Static } from 'typebox';
import { warnings } from './common.js';
import { createJobFields } from './jobs.js';
import { optional, ref, uuid } from './schema.js';
import { CHILDREN_LIMITS, childName } from './waiting.js';
import { leaseToken } from './worker.js';

/** Jobs that a running job creates: its children. */

export const ChildJob = Type.Object(
  {
    name: childName('What the child is called by its parent, which has one child of a name.'),
    detached: optional(
      Type.Boolean({
        default: false,
        description: 'True: it is independent. It cannot be waited for, and is not cancelled with its parent.',
      }),
    ),
    ...createJobFields,
  },
  { $id: 'ChildJob', description: 'A job to create, as in `POST /jobs`, and its name.' },
);
export type ChildJob = Static<typeof ChildJob>;

export const ChildrenRequest = Type.Object(
  {
    lease_token: leaseToken,
    jobs: Type.Array(ref(ChildJob), {
      minItems: CHILDREN_LIMITS.minimum,
      maxItems: CHILDREN_LIMITS.maximum,
      description: 'Those with a new name are created, all of them or none.',
    }),
  },
  {
    $id: 'ChildrenRequest',
    examples: [
      {
        lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10',
        jobs: [{ name: 'mail', task_name: 'send_mail', payload: { order: 7 }, config: { queue: 'emails' } }],
      },
    ],
  },
);
export type ChildrenRequest = Static<typeof ChildrenRequest>;

export const ChildrenCreated = Type.Object(
  {
    job_ids: Type.Array(uuid(), {
      description: 'In the order of the request; for a name that the parent has used before, the existing child.',
    }),
    warnings,
  },
  { $id: 'ChildrenCreated' },
);
export type ChildrenCreated = Static<typeof ChildrenCreated>;
