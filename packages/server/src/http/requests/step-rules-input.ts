import {
  ASK_MAX_BYTES,
  CONDITION_MAX_BYTES,
  WORKFLOW_MAX_WAITS,
  type StepCondition,
  type StepWait,
  type WorkflowStepInput,
} from '@millrace/contract';
import { isLongerThan } from '@millrace/sdk/rules';
import { invalidField, payloadTooLarge } from '../../domain/errors.js';
import { objectText } from '../../domain/json-members.js';
import { rawFields } from '../../domain/raw-json.js';
import type { JsonText } from '../../domain/records.js';
import type { StepSpec, StepWaitSpec, StepWhen } from '../../domain/workflow-records.js';
import { stepWhen, waitingStep } from '../../domain/step-rules.js';

/** Conditions and waits of workflow steps that passed validation, as the engine expects them. */

const COMPARISONS = ['is', 'is_not', 'in'] as const;

/** `text`: as it was sent, since numbers compare by what is written. */
export function conditionOf(when: StepCondition, text: string, path: string): StepWhen {
  if (isLongerThan(CONDITION_MAX_BYTES, text)) throw payloadTooLarge(path, CONDITION_MAX_BYTES);
  const given = COMPARISONS.filter((name) => (name === 'in' ? Boolean(when.in) : when[name] !== undefined));
  const [comparison] = given;
  if (comparison === undefined || given.length > 1)
    throw invalidField(path, 'must have exactly one of is, is_not and in');
  const { $step: step = null, path: fields } = when.ref;
  if (step === null && (fields ?? []).length === 0)
    throw invalidField(`${path}.ref`, 'must have a $step, a path, or both');
  const [value] = rawFields(text, [comparison]);
  const shown: [string, JsonText][] = [
    ['ref', JSON.stringify({ ...(step !== null && { $step: step }), path: fields ?? [] })],
    [comparison, value!],
    ['otherwise', JSON.stringify(when.otherwise ?? 'skip')],
  ];
  return stepWhen(objectText(shown));
}

/** What a step that runs a task has, and one that waits has not. */
const TASK_FIELDS = ['task_name', 'payload', 'queue', 'config'] as const;

/** What the wait makes of the step. `text`: as it was sent. */
export function waitOf(step: WorkflowStepInput, wait: StepWait, text: string, path: string): Partial<StepSpec> {
  const extra = TASK_FIELDS.find((field) => (step[field] ?? null) !== null);
  if (extra !== undefined) throw invalidField(`${path}${extra}`, 'must not be given together with wait');
  const [ask] = wait.ask ? rawFields(text, ['ask']) : [];
  if (ask !== undefined && isLongerThan(ASK_MAX_BYTES, ask)) throw payloadTooLarge(`${path}wait.ask`, ASK_MAX_BYTES);
  const spec: StepWaitSpec = {
    signal: wait.signal,
    key: wait.key ?? null,
    timeoutSecs: wait.timeout_secs,
    ask: ask ?? null,
    onTimeout: wait.on_timeout ?? 'fail',
  };
  return waitingStep(spec);
}

/** Each wait takes a lock and a row when its turn comes, and all of them may come at once. */
export function checkWaits(steps: readonly WorkflowStepInput[], path = ''): void {
  let waits = 0;
  for (const [index, { wait }] of steps.entries())
    if (wait && ++waits > WORKFLOW_MAX_WAITS)
      throw invalidField(
        `${path}steps[${index}].wait`,
        `is one too many: at most ${WORKFLOW_MAX_WAITS} steps may wait`,
      );
}
