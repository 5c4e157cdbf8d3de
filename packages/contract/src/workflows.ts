import { Type, type Static } from 'typebox';
import { listQueryFields, page, searchedTo, VIEWS, warnings } from './common.js';
import { PartialJobConfig } from './job-config.js';
import {
  callerObject,
  filledText,
  instant,
  NAME_MAX_LENGTH,
  nameText,
  nullable,
  oneOf,
  optional,
  ref,
  uuid,
} from './schema.js';
import { StepCondition, StepWait, WAIT_TASK, WORKFLOW_MAX_WAITS } from './step-rules.js';

export const WORKFLOW_STATUSES = [
  'created',
  'running',
  'completed',
  'failed',
  'partially_failed',
  'cancelled',
] as const;
export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number];

/** The states that a workflow leaves only if it is resumed. */
export const TERMINAL_WORKFLOW_STATUSES = [
  'completed',
  'failed',
  'partially_failed',
  'cancelled',
] as const satisfies readonly WorkflowStatus[];
export type TerminalWorkflowStatus = (typeof TERMINAL_WORKFLOW_STATUSES)[number];

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled', 'skipped'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export const ON_FAILURE_POLICIES = ['halt', 'skip', 'continue'] as const;
export type OnFailure = (typeof ON_FAILURE_POLICIES)[number];

export const ON_SUCCESS_POLICIES = ['continue'] as const;
export type OnSuccess = (typeof ON_SUCCESS_POLICIES)[number];

/** How many steps a workflow, and how many names one `depends_on`, may have. */
export const WORKFLOW_STEP_LIMITS = { minimum: 1, maximum: 1000 } as const;
/** How many dependencies all steps together may have: what keeps a diagram below a megabyte. Duplicates count once. */
export const WORKFLOW_MAX_DEPENDENCIES = 20_000;
export const STEP_NAME_MAX_LENGTH = NAME_MAX_LENGTH;

const onFailure = oneOf(ON_FAILURE_POLICIES, {
  default: 'halt',
  description:
    'What happens if the step fails. `halt`: the workflow fails and every unfinished step is cancelled. `skip`: its ' +
    'dependents are skipped and other branches continue. `continue`: its dependents run as if it had completed.',
});
const onSuccess = oneOf(ON_SUCCESS_POLICIES, { default: 'continue', description: 'Only `continue` exists.' });

export const WorkflowStepInput = Type.Object(
  {
    name: nameText({ description: 'Unique within the workflow; any characters.', examples: ['charge'] }),
    task_name: optional(
      nameText({ description: "Task of the step's job; required unless it waits.", examples: ['charge_card'] }),
    ),
    when: optional(StepCondition),
    wait: optional(StepWait),
    payload: optional(
      callerObject({ description: 'Passed to the handler with the key `_context` added; `{}` if omitted.' }),
    ),
    depends_on: optional(
      Type.Array(Type.String({ maxLength: STEP_NAME_MAX_LENGTH }), {
        maxItems: WORKFLOW_STEP_LIMITS.maximum,
        description: 'Names of the steps that must complete first. Duplicates are ignored.',
        examples: [['reserve']],
      }),
    ),
    queue: optional(
      filledText({
        description: "Queue of the step's job; the server's default queue if omitted.",
        examples: ['images'],
      }),
    ),
    config: optional(PartialJobConfig),
    on_failure: optional(onFailure),
    on_success: optional(onSuccess),
    metadata: optional(callerObject({ description: "Copied to the step's job." })),
  },
  {
    $id: 'WorkflowStepInput',
    description:
      'One step. Its queue is a member of the step: a `queue` inside `config` has no effect. It runs a task or, with ' +
      '`wait`, waits for a signal; then it has no `task_name`, `payload`, `queue` or `config`.',
  },
);
export type WorkflowStepInput = Static<typeof WorkflowStepInput>;

/** What a workflow is made of, whoever starts it: a request, or a schedule. */
export const workflowFields = {
  name: nameText({ description: 'A name for people; not unique.', examples: ['order'] }),
  steps: Type.Array(ref(WorkflowStepInput), {
    minItems: WORKFLOW_STEP_LIMITS.minimum,
    maxItems: WORKFLOW_STEP_LIMITS.maximum,
    description:
      `The steps, without cycles, with at most ${WORKFLOW_MAX_DEPENDENCIES} dependencies in total, at most ` +
      `${WORKFLOW_MAX_WAITS} of which wait for signals.`,
  }),
  context: optional(
    callerObject({
      description: 'The context that the first steps receive; `{}` if omitted.',
      examples: [{ order_id: 'o-42' }],
    }),
  ),
  metadata: optional(callerObject({ description: 'Your own data, stored and returned exactly as sent.' })),
};

export const CreateWorkflow = Type.Object(workflowFields, {
  $id: 'CreateWorkflow',
  examples: [
    {
      name: 'order',
      steps: [
        { name: 'reserve', task_name: 'reserve_stock', payload: { sku: 'a-1' } },
        { name: 'charge', task_name: 'charge_card', depends_on: ['reserve'] },
        { name: 'notify', task_name: 'send_mail', depends_on: ['charge'], on_failure: 'continue' },
      ],
    },
  ],
});
export type CreateWorkflow = Static<typeof CreateWorkflow>;

export const WorkflowCreated = Type.Object(
  { workflow_id: uuid({ description: 'Identifier of the workflow.' }), warnings },
  { $id: 'WorkflowCreated' },
);
export type WorkflowCreated = Static<typeof WorkflowCreated>;

export const WorkflowStepDefinition = Type.Object(
  {
    name: Type.String(),
    task_name: Type.String({ description: `\`${WAIT_TASK}\` if the step waits for a signal.` }),
    payload: callerObject(),
    depends_on: Type.Array(Type.String()),
    config: PartialJobConfig,
    on_failure: onFailure,
    on_success: onSuccess,
    metadata: callerObject(),
    when: Type.Optional(StepCondition),
    wait: Type.Optional(StepWait),
    queue: nullable(Type.String({ description: 'The queue that the definition names; null for the default queue.' })),
  },
  { $id: 'WorkflowStepDefinition', description: 'A step as defined; a `timeout` appears as `timeout_secs`.' },
);
export type WorkflowStepDefinition = Static<typeof WorkflowStepDefinition>;

export const Workflow = Type.Object(
  {
    id: uuid({ description: 'Identifier assigned by the service.' }),
    name: Type.String({ description: 'Name given at creation.' }),
    status: oneOf(WORKFLOW_STATUSES, {
      description: 'Every state except `created` and `running` is final, unless it is resumed.',
    }),
    steps: Type.Array(ref(WorkflowStepDefinition), { description: 'The steps as defined.' }),
    context: callerObject({
      description:
        'The initial context, merged with the keys of every result of a completed step and with each whole result ' +
        'under the name of its step: what a step that started now would receive as `_context`.',
    }),
    metadata: callerObject({ description: "The caller's own data, returned exactly as sent." }),
    created_at: instant({ description: 'When the workflow was created.' }),
    started_at: nullable(instant({ description: 'When the first step started.' })),
    completed_at: nullable(instant({ description: 'When the workflow reached its final state.' })),
    tenant_id: Type.String({ description: 'The tenant that owns the workflow.' }),
  },
  {
    $id: 'Workflow',
    description: 'A static graph of steps.',
    examples: [
      {
        id: '019bd0e5-7c58-7a5f-8000-2f9f6a0f8f10',
        name: 'order',
        status: 'running',
        steps: [
          {
            name: 'reserve',
            task_name: 'reserve_stock',
            payload: { sku: 'a-1' },
            depends_on: [],
            config: {},
            on_failure: 'halt',
            on_success: 'continue',
            metadata: {},
            queue: null,
          },
          {
            name: 'charge',
            task_name: 'charge_card',
            payload: {},
            depends_on: ['reserve'],
            config: { max_retries: 5, timeout_secs: 30 },
            on_failure: 'halt',
            on_success: 'continue',
            metadata: {},
            queue: 'payments',
          },
        ],
        context: { order_id: 'o-42', reservation: 'r-7', reserve: { reservation: 'r-7' } },
        metadata: {},
        created_at: '2026-01-31T09:00:00.123456Z',
        started_at: '2026-01-31T09:00:00.130201Z',
        completed_at: null,
        tenant_id: 'acme',
      },
    ],
  },
);
export type Workflow = Static<typeof Workflow>;

export const WorkflowListQuery = Type.Object({
  status: Type.Optional(oneOf(WORKFLOW_STATUSES, { description: 'Only workflows in this state.' })),
  name: Type.Optional(
    Type.String({
      description:
        'Only workflows of this name. No index serves it: a page walks a bounded number of workflows, and may come ' +
        'back short with `has_more` and `next_cursor`.',
    }),
  ),
  view: Type.Optional(
    oneOf(VIEWS, {
      default: 'full',
      description:
        '`summary` leaves out definitions and context and adds how far the steps are, and the one that failed first.',
    }),
  ),
  ...listQueryFields,
});

export const WorkflowPage = Type.Object(
  { ...page('workflows', ref(Workflow), {}).properties, searched_to: searchedTo, warnings },
  { $id: 'WorkflowPage', description: 'One page of workflows.' },
);
export type WorkflowPage = Static<typeof WorkflowPage>;

/** How much of the error of a failed step a summary shows. */
export const FAILED_STEP_ERROR_LENGTH = 200;

export const WorkflowSummary = Type.Object(
  {
    id: Workflow.properties.id,
    name: Workflow.properties.name,
    status: Workflow.properties.status,
    metadata: Workflow.properties.metadata,
    created_at: Workflow.properties.created_at,
    started_at: Workflow.properties.started_at,
    completed_at: Workflow.properties.completed_at,
    tenant_id: Workflow.properties.tenant_id,
    steps_total: Type.Integer({ description: 'How many steps it has.' }),
    steps_ended: Type.Integer({ description: 'How many of them have ended, skipped ones included.' }),
    steps_by_status: Type.Unsafe<Record<StepStatus, number>>({
      type: 'object',
      required: [...STEP_STATUSES],
      properties: Object.fromEntries(STEP_STATUSES.map((status) => [status, { type: 'integer' }])),
      description: 'How many of them are in each state.',
    }),
    failed_step: nullable(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the step.' }),
          error: nullable(
            Type.String({
              description:
                `The first line of its error, at most ${FAILED_STEP_ERROR_LENGTH} characters; ` + 'null: it has none.',
            }),
          ),
        },
        { description: 'The step that failed first, whatever its failure led to; null: none has failed.' },
      ),
    ),
  },
  { $id: 'WorkflowSummary', description: 'A workflow without definitions and context.' },
);
export type WorkflowSummary = Static<typeof WorkflowSummary>;

export const WorkflowSummaryPage = Type.Object(
  { ...page('workflows', ref(WorkflowSummary), {}).properties, searched_to: searchedTo, warnings },
  { $id: 'WorkflowSummaryPage', description: 'One page of workflows, with `view=summary`.' },
);
export type WorkflowSummaryPage = Static<typeof WorkflowSummaryPage>;
