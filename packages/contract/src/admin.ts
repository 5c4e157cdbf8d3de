import { Type, type Static } from 'typebox';
import { listQueryFields, warnings } from './common.js';
import { nullable, instant, nameText, optional, ref } from './schema.js';
import { Counts, QueueDepth, Worker } from './system.js';

/** How many tenants a queue of the operator's view names: those that hold most of it. */
export const QUEUE_TENANTS_SHOWN = 10;

const depthFields = {
  pending: QueueDepth.properties.pending,
  scheduled: QueueDepth.properties.scheduled,
  retrying: QueueDepth.properties.retrying,
  retrying_later: QueueDepth.properties.retrying_later,
  running: QueueDepth.properties.running,
};

export const AdminOverview = Type.Object(
  {
    version: Type.String({ description: 'Version of the server that answers.' }),
    now: instant({ description: "The database's clock." }),
    tenants: Type.Integer({ description: 'How many tenants the service knows.' }),
    queues: Type.Integer({ description: 'How many queues hold unfinished jobs.' }),
    paused_queues: Type.Array(Type.String(), { description: 'Queues that are paused.' }),
    jobs: Counts.properties.jobs,
    dead_letters: Counts.properties.dead_letters,
    workflows: Counts.properties.workflows,
    oldest_pending_age_secs: nullable(
      Type.Integer({ description: 'How long the longest-waiting claimable job has been claimable; null if none is.' }),
    ),
    oldest_past_retention_secs: nullable(
      Type.Integer({ description: 'How far the oldest finished job is past its retention; null if none is.' }),
    ),
    warnings,
  },
  { $id: 'AdminOverview', description: 'All tenants together.' },
);
export type AdminOverview = Static<typeof AdminOverview>;

/** How long the reason of a pause may be. */
export const PAUSE_REASON_MAX_LENGTH = 500;

export const PauseQueue = Type.Object(
  {
    reason: optional(
      nameText({
        maxLength: PAUSE_REASON_MAX_LENGTH,
        description: 'Why, shown as `paused_reason` until the queue is resumed.',
      }),
    ),
  },
  { $id: 'PauseQueue', examples: [{ reason: 'the mail provider is down' }] },
);
export type PauseQueue = Static<typeof PauseQueue>;

export const AdminQueue = Type.Object(
  {
    ...QueueDepth.properties,
    tenants: Type.Array(Type.Object({ tenant_id: Type.String(), ...depthFields }), {
      description: `The ${QUEUE_TENANTS_SHOWN} tenants that hold most of it.`,
    }),
  },
  { $id: 'AdminQueue' },
);
export type AdminQueue = Static<typeof AdminQueue>;

export const AdminQueues = Type.Object(
  {
    queues: Type.Array(ref(AdminQueue), { description: 'Queues that hold unfinished jobs, or are paused.' }),
    warnings,
  },
  { $id: 'AdminQueues' },
);
export type AdminQueues = Static<typeof AdminQueues>;

export const AdminTenant = Type.Object({ tenant_id: Type.String(), ...depthFields }, { $id: 'AdminTenant' });
export type AdminTenant = Static<typeof AdminTenant>;

/** The page of a list of tenants. */
export const AdminTenantsQuery = Type.Object({ limit: listQueryFields.limit, cursor: listQueryFields.cursor });

export const AdminTenants = Type.Object(
  {
    tenants: Type.Array(ref(AdminTenant), { description: 'In the order of their names.' }),
    has_more: Type.Boolean({ description: 'Whether another page follows.' }),
    next_cursor: Type.Optional(Type.String({ description: 'Pass it as `cursor` to get the next page.' })),
    warnings,
  },
  { $id: 'AdminTenants' },
);
export type AdminTenants = Static<typeof AdminTenants>;

export const AdminWorkers = Type.Object(
  {
    workers: Type.Array(ref(Worker), {
      description: 'Those that held jobs in the last hour or asked for some lately, the last seen first.',
    }),
    warnings,
  },
  { $id: 'AdminWorkers' },
);
export type AdminWorkers = Static<typeof AdminWorkers>;
