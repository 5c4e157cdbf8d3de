import { Type, type Static } from 'typebox';
import { listQueryFields, page } from './common.js';
import { PartialJobConfig } from './job-config.js';
import { callerObject, instant, nameText, nullable, oneOf, optional, ref, uuid } from './schema.js';

export const WORKFLOW_STATUSES = [
  'created',
  'running',
  'completed',
  'failed',
  'partially_failed',
  'cancelled',
] as const;
export type WorkflowStatus = (typeof WORKFLOW_STATUSES)[number];

export const STEP_STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled', 'skipped'] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export const ON_FAILURE_POLICIES = ['halt', 'skip', 'continue'] as const;
export type OnFailure = (typeof ON_FAILURE_POLICIES)[number];

export const ON_SUCCESS_POLICIES = ['continue'] as const;
export type OnSuccess = (typeof ON_SUCCESS_POLICIES)[number];

export const WORKFLOW_STEP_LIMITS = { minimum: 1, maximum: 1000 } as const;

const onFailure = oneOf(ON_FAILURE_POLICIES, {
  default: 'halt',
  description:
    'What a failure of this step means. `halt`: the workflow fails and every unfinished step is cancelled. ' +
    '`skip`: its dependents are skipped, other branches go on. `continue`: its dependents run as if it had completed.',
});
const onSuccess = oneOf(ON_SUCCESS_POLICIES, { default: 'continue', description: 'Only `continue` exists.' });

export const WorkflowStepInput = Type.Object(
  {
    name: nameText({ description: 'Unique within the workflow.', examples: ['charge'] }),
    task_name: nameText({ description: 'Handler of the step.', examples: ['charge_card'] }),
    payload: optional(callerObject({ description: 'At run time the step also receives the key `_context`.' })),
    depends_on: optional(
      Type.Array(Type.String(), {
        maxItems: WORKFLOW_STEP_LIMITS.maximum,
        description: 'Names of the steps that must complete first.',
      }),
    ),
    config: optional(PartialJobConfig),
    on_failure: optional(onFailure),
    on_success: optional(onSuccess),
    metadata: optional(callerObject({ description: "Copied to the step's job." })),
  },
  { $id: 'WorkflowStepInput', description: 'One step. Steps always run on the default queue.' },
);
export type WorkflowStepInput = Static<typeof WorkflowStepInput>;

export const CreateWorkflow = Type.Object(
  {
    name: nameText({ description: 'A name for people; not unique.', examples: ['order'] }),
    steps: Type.Array(ref(WorkflowStepInput), {
      minItems: WORKFLOW_STEP_LIMITS.minimum,
      maxItems: WORKFLOW_STEP_LIMITS.maximum,
      description: 'A graph without cycles.',
    }),
    context: optional(callerObject({ description: 'The context the first steps receive; `{}` when left out.' })),
    metadata: optional(callerObject({ description: 'Notes of your own, stored and returned as sent.' })),
  },
  {
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
  },
);
export type CreateWorkflow = Static<typeof CreateWorkflow>;

export const WorkflowCreated = Type.Object({ workflow_id: uuid() }, { $id: 'WorkflowCreated' });
export type WorkflowCreated = Static<typeof WorkflowCreated>;

export const WorkflowStepDefinition = Type.Object(
  {
    name: Type.String(),
    task_name: Type.String(),
    payload: callerObject(),
    depends_on: Type.Array(Type.String()),
    config: PartialJobConfig,
    on_failure: onFailure,
    on_success: onSuccess,
    metadata: callerObject(),
  },
  { $id: 'WorkflowStepDefinition', description: 'A step as it was defined.' },
);
export type WorkflowStepDefinition = Static<typeof WorkflowStepDefinition>;

export const Workflow = Type.Object(
  {
    id: uuid({ description: 'Identifier given by the service.' }),
    name: Type.String({ description: 'Name given at creation.' }),
    status: oneOf(WORKFLOW_STATUSES, { description: '`created` and `running` are the states that are not final.' }),
    steps: Type.Array(ref(WorkflowStepDefinition), { description: 'The steps as they were defined.' }),
    context: callerObject({ description: 'Results of the completed steps, merged.' }),
    metadata: callerObject({ description: 'Notes of the caller.' }),
    created_at: instant(),
    started_at: nullable(instant({ description: 'When the first step started.' })),
    completed_at: nullable(instant({ description: 'When the workflow reached a final state.' })),
    tenant_id: Type.String({ description: 'The tenant that owns the workflow.' }),
  },
  { $id: 'Workflow', description: 'A static graph of steps.' },
);
export type Workflow = Static<typeof Workflow>;

export const WorkflowListQuery = Type.Object({
  status: Type.Optional(oneOf(WORKFLOW_STATUSES, { description: 'Only workflows in this state.' })),
  ...listQueryFields,
});

export const WorkflowPage = page('workflows', ref(Workflow), {
  $id: 'WorkflowPage',
  description: 'One page of workflows.',
});
export type WorkflowPage = Static<typeof WorkflowPage>;

export const WorkflowStep = Type.Object(
  {
    name: Type.String({ description: 'Name of the step.' }),
    status: oneOf(STEP_STATUSES, { description: '`running` while its job is running or retrying.' }),
    job_id: nullable(uuid({ description: 'Its job; null until its dependencies have completed.' })),
  },
  { $id: 'WorkflowStep' },
);
export type WorkflowStep = Static<typeof WorkflowStep>;

export const WorkflowSteps = Type.Object(
  { steps: Type.Array(ref(WorkflowStep), { description: 'In the order of their definition.' }) },
  { $id: 'WorkflowSteps' },
);
export type WorkflowSteps = Static<typeof WorkflowSteps>;

export const WorkflowDiagram = Type.Object(
  {
    format: Type.Literal('mermaid'),
    diagram: Type.String({ description: 'Mermaid text, nodes coloured by status.' }),
  },
  { $id: 'WorkflowDiagram' },
);
export type WorkflowDiagram = Static<typeof WorkflowDiagram>;
