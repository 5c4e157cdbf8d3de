import { WORKFLOW_STEP_LIMITS, type ResumeWorkflow } from '@millrace/contract';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField } from '../../domain/errors.js';
import { rawFields } from '../../domain/raw-json.js';
import type { ResumeSpec } from '../../domain/workflow-records.js';
import { callerText, type InputSettings } from './caller-text.js';

/** A resume needs no body. The validator reports every problem, and this bounds how many names it looks at. */
export function resumeBody(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  request.body ??= {};
  const { steps } = request.body as { steps?: unknown };
  const { maximum } = WORKFLOW_STEP_LIMITS;
  const isLong = Array.isArray(steps) && steps.length > maximum;
  done(isLong ? invalidField('steps', `must have at most ${maximum} items`) : undefined);
}

/** A request that passed validation, as the engine expects it. `raw` is its source text. */
export function resumeSpec(
  body: ResumeWorkflow,
  raw: string,
  settings: Pick<InputSettings, 'maxPayloadBytes'>,
): ResumeSpec {
  const [context] = raw === '' ? [] : rawFields(raw, ['context']);
  return { steps: body.steps ?? null, context: callerText(body.context, context, null, 'context', settings) };
}
