import {
  STEP_NAME_MAX_LENGTH,
  WORKFLOW_STEP_LIMITS,
  type CreateWorkflow,
  type WorkflowStepInput,
} from '@millrace/contract';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { givenJobConfig, resolveJobConfig } from '../../domain/job-config.js';
import { rawFields } from '../../domain/raw-json.js';
import { characterCount } from '../../domain/text.js';
import type { StepSpec, WorkflowSpec } from '../../domain/workflow-records.js';
import { freeQueue } from '../../domain/reserved-queue.js';
import { callerText, type InputSettings } from './caller-text.js';
import { givenPolicy } from './dev-policy.js';
import { CALLER_FIELDS } from './job-input.js';
import { checkWaits, conditionOf, waitOf } from './step-rules-input.js';
import { withTrace } from './trace.js';

/** The fields of a step of which the source text matters. */
export const STEP_FIELDS = [...CALLER_FIELDS, 'when', 'wait'] as const;

/**
 * A create request that passed validation, as the engine expects it. `raw` is its source text, `texts` are those of
 * STEP_FIELDS in its steps, `path` is where it stands in a larger request.
 */
export function workflowSpec(
  body: CreateWorkflow,
  raw: string,
  texts: readonly (string | undefined)[][],
  settings: InputSettings,
  path = '',
): WorkflowSpec {
  checkWaits(body.steps, path);
  const hasMore = Boolean(body.context) || Boolean(body.metadata);
  const [context, metadata] = hasMore ? rawFields(raw, ['context', 'metadata']) : [];
  return {
    name: body.name,
    steps: body.steps.map((step, index) => stepSpec(step, texts[index] ?? [], `${path}steps[${index}].`, settings)),
    context: callerText(body.context, context, '{}', `${path}context`, settings),
    metadata: callerText(body.metadata, metadata, null, `${path}metadata`, settings),
  };
}

function stepSpec(
  step: WorkflowStepInput,
  [payloadText, metadataText, whenText, waitText]: readonly (string | undefined)[],
  path: string,
  settings: InputSettings,
): StepSpec {
  const { payload, metadata, when, wait } = step;
  const config = wait ? step.config : givenPolicy(step.config, settings);
  if (!wait && !step.task_name) throw invalidField(`${path}task_name`, 'is required, unless the step has a wait');
  return {
    name: step.name,
    task: step.task_name ?? '',
    payload: callerText(payload, payloadText, '{}', `${path}payload`, settings),
    dependsOn: step.depends_on ?? [],
    queue: step.queue ? freeQueue(step.queue, `${path}queue`) : null,
    config: JSON.stringify(givenJobConfig(config)),
    jobConfig: resolveJobConfig(config, `${path}config`, 'step'),
    onFailure: step.on_failure ?? 'halt',
    metadata: withTrace(callerText(metadata, metadataText, null, `${path}metadata`, settings), settings.trace ?? null),
    ...(when && { when: conditionOf(when, whenText!, `${path}when`) }),
    ...(wait && waitOf(step, wait, waitText!, path)),
  };
}

/**
 * Runs before the validator checks each step: the validator reports every problem, and this bounds how many there can
 * be. Names in `depends_on` are checked here for the same reason: a thousand steps could list a million names.
 */
export function boundSteps(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { steps } = (request.body ?? {}) as { steps?: unknown };
  done(Array.isArray(steps) ? problemOf(steps, '') : undefined);
}

/** The same for a request that has a workflow within it. */
export function boundScheduledSteps(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: HookHandlerDoneFunction,
): void {
  const { workflow } = (request.body ?? {}) as { workflow?: { steps?: unknown } | null };
  const steps = workflow?.steps;
  done(Array.isArray(steps) ? problemOf(steps, 'workflow.') : undefined);
}

function problemOf(steps: readonly unknown[], above: string): Error | undefined {
  const { maximum } = WORKFLOW_STEP_LIMITS;
  if (steps.length > maximum) return invalidField(`${above}steps`, `must have at most ${maximum} items`);
  for (const [index, step] of steps.entries()) {
    const dependsOn = (step as { depends_on?: unknown } | null)?.depends_on;
    if (!Array.isArray(dependsOn)) continue;
    const path = `${above}steps[${index}].depends_on`;
    if (dependsOn.length > maximum) return invalidField(path, `must have at most ${maximum} items`);
    for (const [place, name] of dependsOn.entries()) {
      if (typeof name !== 'string') return invalidField(`${path}[${place}]`, 'must be string');
      if (characterCount(name) > STEP_NAME_MAX_LENGTH) {
        return invalidField(`${path}[${place}]`, `must have at most ${STEP_NAME_MAX_LENGTH} characters`);
      }
    }
  }
  return undefined;
}
