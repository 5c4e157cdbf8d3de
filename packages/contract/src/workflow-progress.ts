import { Type, type Static } from 'typebox';
import { instant, nullable, oneOf, ref, uuid } from './schema.js';
import { SKIP_REASONS } from './step-rules.js';
import { STEP_STATUSES, Workflow } from './workflows.js';

/** How far a workflow has got: its steps as they are now, as events and as a diagram. */
export const WorkflowStep = Type.Object(
  {
    name: Type.String({ description: 'Name of the step.' }),
    status: oneOf(STEP_STATUSES, {
      description:
        '`running` while its job is running or retrying, and while the step waits for a signal. Between two ' +
        'attempts, `next_retry_at` says when the next one is due.',
    }),
    job_id: nullable(uuid({ description: "The step's job; null until its dependencies have completed." })),
    started_at: nullable(instant({ description: 'When the latest attempt of its job started.' })),
    completed_at: nullable(instant({ description: 'When its job reached its final state.' })),
    attempts: Type.Integer({ description: 'How often its job was delivered to a worker.' }),
    error_message: nullable(
      Type.String({ description: 'The first 2,000 characters of the error that its job last reported.' }),
    ),
    next_retry_at: nullable(
      instant({ description: 'When its job is tried again, while it waits for that after a failed attempt.' }),
    ),
    run: Type.Integer({ description: '1, plus one for every job that it had before a resume.' }),
    earlier_job_ids: Type.Array(uuid(), { description: 'The jobs that it had before it was resumed, oldest first.' }),
    skipped_by: nullable(
      oneOf(SKIP_REASONS, {
        description:
          'Why the step was skipped. `condition`: its own condition did not hold, or that of a step it depends on. ' +
          '`failure`: a step that it depends on failed under `skip`.',
      }),
    ),
  },
  {
    $id: 'WorkflowStep',
    examples: [
      {
        name: 'charge',
        status: 'running',
        job_id: '019bd0e5-7c58-7a5f-a000-2f9f6a0f8f10',
        started_at: '2026-01-31T09:00:00.130201Z',
        completed_at: null,
        attempts: 1,
        error_message: null,
        next_retry_at: null,
        run: 1,
        earlier_job_ids: [],
        skipped_by: null,
      },
    ],
  },
);
export type WorkflowStep = Static<typeof WorkflowStep>;

export const WorkflowSteps = Type.Object(
  { steps: Type.Array(ref(WorkflowStep), { description: 'In the order of their definition.' }) },
  { $id: 'WorkflowSteps' },
);
export type WorkflowSteps = Static<typeof WorkflowSteps>;

export const WorkflowEvent = Type.Object(
  {
    workflow: ref(Workflow),
    steps: Type.Array(ref(WorkflowStep), { description: 'In the order of their definition.' }),
  },
  { $id: 'WorkflowEvent', description: 'The data of a `status` event of a workflow: the record and its steps.' },
);
export type WorkflowEvent = Static<typeof WorkflowEvent>;

export const WorkflowDiagram = Type.Object(
  {
    format: Type.Literal('mermaid'),
    diagram: Type.String({
      description: 'Mermaid source: one node per step, coloured by status, and one arrow per dependency.',
    }),
  },
  {
    $id: 'WorkflowDiagram',
    examples: [
      {
        format: 'mermaid',
        diagram: 'graph TD\n  reserve["reserve"]:::completed\n  charge["charge"]:::running\n  reserve --> charge',
      },
    ],
  },
);
export type WorkflowDiagram = Static<typeof WorkflowDiagram>;
