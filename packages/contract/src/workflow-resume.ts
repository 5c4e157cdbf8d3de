import { Type, type Static } from 'typebox';
import { warnings } from './common.js';
import { callerObject, optional, uuid } from './schema.js';
import { STEP_NAME_MAX_LENGTH, WORKFLOW_STEP_LIMITS } from './workflows.js';

/** How often one workflow may be resumed. */
export const WORKFLOW_MAX_RESUMES = 100;

export const ResumeWorkflow = Type.Object(
  {
    steps: optional(
      Type.Array(Type.String({ maxLength: STEP_NAME_MAX_LENGTH }), {
        minItems: 1,
        maxItems: WORKFLOW_STEP_LIMITS.maximum,
        description:
          'The steps to begin with; a completed one may be among them. If omitted: every step that failed or was ' +
          'cancelled.',
        examples: [['charge']],
      }),
    ),
    context: optional(
      callerObject({ description: 'Keys that override those of the context.', examples: [{ card: 'tok_2' }] }),
    ),
    dry_run: optional(Type.Boolean({ default: false, description: 'Only say which steps would run again.' })),
  },
  { $id: 'ResumeWorkflow', examples: [{ steps: ['charge'], context: { card: 'tok_2' } }] },
);
export type ResumeWorkflow = Static<typeof ResumeWorkflow>;

export const WorkflowResumed = Type.Object(
  {
    workflow_id: uuid({ description: 'Identifier of the workflow.' }),
    steps: Type.Array(Type.String(), {
      description:
        'The steps that run again, in the order of their definition: those it starts from and all behind them.',
    }),
    warnings,
  },
  { $id: 'WorkflowResumed' },
);
export type WorkflowResumed = Static<typeof WorkflowResumed>;
