import { Type, type Static } from 'typebox';
import { Count, listQueryFields, warnings } from './common.js';
import { keepCheckpoints } from './durable.js';
import { deadLetterFilterFields } from './dead-letters.js';
import { jobFilterFields } from './jobs.js';
import { instant, nullable, oneOf, optional, ref, uuid } from './schema.js';

export const OPERATION_ACTIONS = [
  'cancel_jobs',
  'replay_dead_letters',
  'resume_workflows',
  'run_jobs_now',
  'rerun_jobs',
] as const;
export type OperationAction = (typeof OPERATION_ACTIONS)[number];

export const OPERATION_STATUSES = ['running', 'completed', 'stopped', 'failed'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** How many ids an operation may name. */
export const OPERATION_IDS_LIMITS = { minimum: 1, maximum: 1000 } as const;
/** How many operations of a tenant may run at once. */
export const OPERATIONS_ACTIVE = 5;
/** How many items a dry run shows. */
export const DRY_RUN_SAMPLE = 10;

const createdFields = {
  created_after: Type.Optional(instant({ description: 'Only items created at or after this instant.' })),
  created_before: Type.Optional(instant({ description: 'Only items created strictly before this instant.' })),
};

/** Of workflows: `status` has one of their states. */
export const workflowFilterFields = {
  status: jobFilterFields.status,
  name: Type.Optional(Type.String({ description: 'Of workflows: only those of this name.' })),
};

/** Of jobs, beside those that a list has under the same name: what a list calls `metadata.source` is a member here. */
export const jobMetadataFilter = {
  metadata: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      minProperties: 1,
      maxProperties: 1,
      description: 'Of jobs: only those whose metadata has exactly this value in this field.',
      examples: [{ source: 'signup' }],
    }),
  ),
};

export const OperationFilter = Type.Object(
  {
    ...jobFilterFields,
    ...jobMetadataFilter,
    ...deadLetterFilterFields,
    name: workflowFilterFields.name,
    ...createdFields,
  },
  {
    $id: 'OperationFilter',
    description:
      'The parameters of the list that the action works on: those of jobs, of dead letters or of workflows. Other ' +
      'names are refused, and so is an empty filter. Without `status`, jobs match that can be changed: for ' +
      '`cancel_jobs` those that have not ended, for `run_jobs_now` those that wait, for `rerun_jobs` those that have ' +
      'ended; and workflows that failed as a whole or in part. Without `replayed`, dead letters match that have not ' +
      'been replayed. Items created after the operation never match.',
    examples: [{ status: 'pending', queue: 'emails' }],
  },
);
export type OperationFilter = Static<typeof OperationFilter>;

export const CreateOperation = Type.Object(
  {
    action: oneOf(OPERATION_ACTIONS, {
      description:
        'What to do with everything that matches. `run_jobs_now`: jobs that wait for their time become due; those ' +
        'that wait for a signal, a child or the end of a sleep are left alone. `rerun_jobs`: jobs that have ended ' +
        'are created anew.',
    }),
    filter: Type.Optional(ref(OperationFilter)),
    ids: optional(
      Type.Array(Type.String(), {
        minItems: OPERATION_IDS_LIMITS.minimum,
        maxItems: OPERATION_IDS_LIMITS.maximum,
        description: 'Instead of a filter: the ids of jobs, dead letters or workflows.',
      }),
    ),
    keep_checkpoints: keepCheckpoints,
    dry_run: optional(Type.Boolean({ default: false, description: 'Only say what would match.' })),
  },
  {
    $id: 'CreateOperation',
    examples: [{ action: 'replay_dead_letters', filter: { task_name: 'send_welcome', replayed: false } }],
  },
);
export type CreateOperation = Static<typeof CreateOperation>;

export const OperationCreated = Type.Object(
  { operation_id: uuid({ description: 'Identifier of the operation.' }), warnings },
  { $id: 'OperationCreated' },
);
export type OperationCreated = Static<typeof OperationCreated>;

export const DryRun = Type.Object(
  {
    matched: ref(Count),
    sample: Type.Array(
      Type.Object({
        id: Type.String({ description: 'Id of the job, dead letter or workflow.' }),
        task_name: Type.Optional(Type.String({ description: 'Of a job or dead letter.' })),
        queue_name: Type.Optional(Type.String({ description: 'Of a job or dead letter.' })),
        name: Type.Optional(Type.String({ description: 'Of a workflow.' })),
        created_at: instant(),
      }),
      { description: `The first ${DRY_RUN_SAMPLE} that match.` },
    ),
    warnings,
  },
  { $id: 'DryRun', description: 'What an operation would work on.' },
);
export type DryRun = Static<typeof DryRun>;

export const Operation = Type.Object(
  {
    id: uuid({ description: 'Identifier assigned by the service.' }),
    action: oneOf(OPERATION_ACTIONS, { description: 'What it does.' }),
    filter: Type.Unsafe<OperationFilter | null>({
      anyOf: [{ $ref: 'OperationFilter#' }, { type: 'null' }],
      description: 'What it works on; null if it was given ids.',
    }),
    status: oneOf(OPERATION_STATUSES, { description: 'Every state except `running` is final.' }),
    matched: ref(Count),
    done: Type.Integer({ description: 'How many items it has looked at.' }),
    changed: Type.Integer({ description: 'How many of them it changed.' }),
    skipped: Type.Integer({ description: 'How many needed no change: ended, replayed or resumed in the meantime.' }),
    outcome: Type.Object(
      {
        completed: Type.Integer({ description: 'Jobs of replays and reruns that have completed.' }),
        failed: Type.Integer({ description: 'Those that failed or were cancelled.' }),
        unfinished: Type.Integer({ description: 'Those that have not ended.' }),
      },
      { description: 'What happened to jobs of replays and reruns; zeros for other actions.' },
    ),
    created_at: instant({ description: 'When it was requested.' }),
    completed_at: nullable(instant({ description: 'When it ended.' })),
  },
  { $id: 'Operation', description: 'A change to everything that matched a filter, made in the background.' },
);
export type Operation = Static<typeof Operation>;

/** The page of a list of operations. */
export const OperationListQuery = Type.Object({ limit: listQueryFields.limit, cursor: listQueryFields.cursor });

export const Operations = Type.Object(
  {
    operations: Type.Array(ref(Operation), { description: 'The newest first.' }),
    has_more: Type.Boolean({ description: 'Whether another page follows.' }),
    next_cursor: Type.Optional(Type.String({ description: 'Pass it as `cursor` to get the next page.' })),
    warnings,
  },
  { $id: 'Operations' },
);
export type Operations = Static<typeof Operations>;
