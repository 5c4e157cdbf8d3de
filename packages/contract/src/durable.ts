import { Type, type Static } from 'typebox';
import { warnings } from './common.js';
import { logs } from './logs.js';
import { instant, nullable, optional, ref, uuid } from './schema.js';
import { anyJson, shortName, SUSPEND_LIMITS, waitFields, type Ask } from './waiting.js';
import { leaseToken } from './worker.js';

/**
 * Durable jobs: named values that outlive attempts, waiting without a worker, and signals from outside.
 */

/** Checkpoints of one job. Their bytes together are bounded by --max-payload-bytes. */
export const CHECKPOINTS_PER_JOB = 1_000;
/** The largest value of a signal, in bytes of JSON. */
export const SIGNAL_MAX_BYTES = 65_536;
/** How long a signal is kept that nobody takes. */
export const SIGNAL_TTL_LIMITS = { minimum: 1, maximum: 2_592_000, default: 604_800 } as const;
/** Signals that may be stored at a time. */
export const SIGNALS_STORED = { perKey: 100, perTenant: 100_000 } as const;

export const CheckpointRequest = Type.Object(
  {
    lease_token: leaseToken,
    name: shortName('What the value is called within its job.', ['find charge']),
    value: anyJson('Any JSON, null included.'),
  },
  {
    $id: 'CheckpointRequest',
    examples: [{ lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', name: 'find charge', value: { id: 'ch_1' } }],
  },
);
export type CheckpointRequest = Static<typeof CheckpointRequest>;

export const StoredCheckpoint = Type.Object(
  { name: Type.String(), value: anyJson('What stands under the name: the first value that was stored.') },
  { $id: 'StoredCheckpoint' },
);
export type StoredCheckpoint = Static<typeof StoredCheckpoint>;

export const Checkpoint = Type.Object(
  {
    name: Type.String(),
    value: anyJson('As it was sent.'),
    at: instant({ description: 'When it was stored.' }),
    attempt: Type.Integer({
      description: 'The delivery that stored it; 1 for the first, 0 if it was kept from an earlier job.',
    }),
  },
  { $id: 'Checkpoint', description: 'A named value of a job. The first value under a name is never replaced.' },
);
export type Checkpoint = Static<typeof Checkpoint>;

export const Checkpoints = Type.Object(
  {
    checkpoints: Type.Array(ref(Checkpoint), { description: 'In the order in which they were stored.' }),
    waits: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The checkpoint that will end the wait.' }),
        until: instant({
          description: 'The deadline of the wait: a sleep is over if the attempt began then or later.',
        }),
      }),
      { description: 'Waits that no checkpoint has ended yet.' },
    ),
  },
  { $id: 'Checkpoints' },
);
export type Checkpoints = Static<typeof Checkpoints>;

/** Names of checkpoints to keep. */
export const KEPT_NAMES_MAX = 1_000;

/** Which checkpoints of a job its copy begins with. */
export const keepCheckpoints = Type.Optional(
  // A list of types, because validators report `anyOf` at length.
  Type.Unsafe<boolean | string[] | null>({
    type: ['boolean', 'array', 'null'],
    items: shortName('Name of a checkpoint.', ['find charge']),
    maxItems: KEPT_NAMES_MAX,
    description:
      'Start with copies of the checkpoints of the first job: true for all, or their names; a name without a ' +
      'checkpoint is ignored. Time-outs and failed children are left out, since they would only fail again. The ' +
      'metadata of the new job gains `kept_checkpoints`.',
  }),
);

export const ReplayRequest = Type.Object(
  { keep_checkpoints: keepCheckpoints },
  { $id: 'ReplayRequest', description: 'The body may be empty.', examples: [{ keep_checkpoints: true }] },
);
export type ReplayRequest = Static<typeof ReplayRequest>;

export const LeaseTokenHeader = Type.Object({
  'Lease-Token': Type.Optional(Type.String({ description: 'Of a worker: the token that came with the job.' })),
});

export const SuspendRequest = Type.Object(
  {
    lease_token: leaseToken,
    ...waitFields,
    delay_secs: optional(
      Type.Integer({
        ...SUSPEND_LIMITS,
        description: 'In place of `until`: seconds from now. One of them is required.',
      }),
    ),
    logs,
  },
  {
    $id: 'SuspendRequest',
    description:
      'Puts the job back into its queue, due at an instant, or when a signal comes or its children have ended. The ' +
      'delivery counts, the retry does not.',
    examples: [
      { lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10', checkpoint: 'grace', delay_secs: 3600 },
      {
        lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10',
        checkpoint: 'approval',
        delay_secs: 259200,
        wait: { signal: { name: 'approval' }, ask: { text: 'Refund 120.00?' } },
      },
      {
        lease_token: '5f0c1a52-6f4b-4b5e-9d6c-0b7f3d1d2a10',
        checkpoint: 'mail',
        delay_secs: 2592000,
        wait: { children: ['mail'] },
      },
    ],
  },
);
export type SuspendRequest = Static<typeof SuspendRequest>;

const signalValue = Type.Optional(anyJson(`Any JSON, at most ${SIGNAL_MAX_BYTES} bytes; null if omitted.`));

export const SignalRequest = Type.Object(
  {
    name: shortName('What the signal is called.', ['approval']),
    key: shortName('Which one of that name.', ['order-7']),
    value: signalValue,
    ttl_secs: optional(
      Type.Integer({
        ...SIGNAL_TTL_LIMITS,
        description: 'How long it is kept if nobody waits for it yet.',
      }),
    ),
  },
  { $id: 'SignalRequest', examples: [{ name: 'approval', key: 'order-7', value: { approved: true } }] },
);
export type SignalRequest = Static<typeof SignalRequest>;

export const JobSignalRequest = Type.Object(
  { value: signalValue },
  { $id: 'JobSignalRequest', description: 'The body may be empty.', examples: [{ value: { approved: true } }] },
);
export type JobSignalRequest = Static<typeof JobSignalRequest>;

export const SignalAccepted = Type.Object(
  {
    delivered: Type.Boolean({
      description: 'True: a job took it. False: it is stored, and the next wait for it takes it.',
    }),
    warnings,
  },
  { $id: 'SignalAccepted' },
);
export type SignalAccepted = Static<typeof SignalAccepted>;

export const JobSignalParams = Type.Object({
  id: uuid({ description: 'The job.' }),
  name: shortName('What the signal is called, percent-encoded.', ['approval']),
});

export const WorkflowSignalParams = Type.Object({
  id: uuid({ description: 'The workflow.' }),
  name: shortName('What the signal is called, percent-encoded.', ['approved']),
});

export const WaitsQuery = Type.Object({
  name: Type.Optional(Type.String({ description: 'Only waits for signals of this name.' })),
  key: Type.Optional(Type.String({ description: 'Only waits for signals with this key.' })),
  ask: Type.Optional(Type.Boolean({ default: false, description: 'Only waits that ask a person something.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Page size.' })),
  cursor: Type.Optional(Type.String({ description: 'The `next_cursor` of another page.' })),
});

export const Wait = Type.Object(
  {
    job_id: uuid(),
    task_name: Type.String(),
    name: Type.String({ description: 'The signal that is waited for.' }),
    key: Type.String({ description: 'Its key.' }),
    ask: Type.Unsafe<Ask | null>({ anyOf: [{ $ref: 'Ask#' }, { type: 'null' }] }),
    since: instant({ description: 'When the wait began.' }),
    until: instant({ description: 'When the job continues without the signal.' }),
    workflow_id: nullable(uuid({ description: 'The workflow that it is a step of, if it is one.' })),
    workflow_step_id: nullable(Type.String({ description: 'The name of that step.' })),
  },
  { $id: 'Wait', description: 'A job that waits for a signal.' },
);
export type Wait = Static<typeof Wait>;

export const Waits = Type.Object(
  {
    waits: Type.Array(ref(Wait), { description: 'The newest first.' }),
    has_more: Type.Boolean({ description: 'True if another page follows.' }),
    next_cursor: Type.Optional(Type.String({ description: 'Pass it as `cursor` to get the next page.' })),
    warnings,
  },
  { $id: 'Waits' },
);
export type Waits = Static<typeof Waits>;
