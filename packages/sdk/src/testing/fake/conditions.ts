import { isObject, type JsonObject } from '../../json/object.js';
import type { Scalar, StepCondition, WorkflowStepInput } from '../../wire/index.js';
import { invalid } from './problem.js';

/** Conditions of steps, by the service's own rules. */

/** As it is shown. */
export function checkedCondition(when: StepCondition, path: string): StepCondition {
  const { ref, is, is_not: isNot, otherwise } = when;
  const given = [is !== undefined, isNot !== undefined, Boolean(when.in)].filter(Boolean).length;
  if (given !== 1) throw invalid(path, 'must have exactly one of is, is_not and in');
  const { $step: step = null, path: fields = null } = ref;
  if (step === null && (fields ?? []).length === 0) throw invalid(`${path}.ref`, 'must have a $step, a path, or both');
  return {
    ref: { ...(step !== null && { $step: step }), path: fields ?? [] },
    ...(is !== undefined ? { is } : isNot !== undefined ? { is_not: isNot } : { in: when.in ?? [] }),
    otherwise: otherwise ?? 'skip',
  };
}

/** A condition may only look at a step that its own comes after. */
export function checkReferences(steps: readonly WorkflowStepInput[]): void {
  const above = new Map(steps.map(({ name, depends_on: names }) => [name, names ?? []]));
  const isBehind = (name: string, other: string): boolean =>
    (above.get(name) ?? []).some((each) => each === other || isBehind(each, other));
  steps.forEach(({ name, when }, index) => {
    const step = when?.ref.$step ?? null;
    if (step === null || isBehind(name, step)) return;
    const condition = `the condition of step ${JSON.stringify(name)}`;
    const message = `${condition} refers to ${JSON.stringify(step)}, which it does not depend on`;
    throw invalid(`steps[${index}].when.ref.$step`, message);
  });
}

/** Where the path leads nowhere, the value is null. */
export function holds(when: StepCondition, context: JsonObject, hasCompleted: (step: string) => boolean): boolean {
  const { $step: step = null, path } = when.ref;
  let at: unknown = step === null || hasCompleted(step) ? context : null;
  for (const key of [...(step === null ? [] : [step]), ...(path ?? [])])
    at = isObject(at) && Object.hasOwn(at, key) ? at[key] : null;
  if (when.is !== undefined) return at === when.is;
  if (when.is_not !== undefined) return at !== when.is_not;
  return (when.in ?? []).includes(at as Scalar);
}
