/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type --
   the defaults of the type parameters: a workflow without input takes {} */
import { InvalidRequestError } from '../errors/call-errors.js';
import type { JsonObject } from '../json/object.js';
import { configOf, mergePolicies, type Policy } from '../task/policy.js';
import { type, type InOfSchema, type OutOfSchema, type StandardSchema } from '../task/schema.js';
import { checked } from '../task/task.js';
import type { AnyTask } from '../task/types.js';
import type { OnFailure, WorkflowStepInput } from '../wire/index.js';
import { standIns, withReferences } from './stand-ins.js';
import type { AnyWorkflow, Workflow } from './types.js';

interface Step {
  readonly name: string;
  readonly task: AnyTask;
  readonly options: Policy & {
    after?: readonly string[];
    onFailure?: OnFailure;
    metadata?: JsonObject;
    payload?: (from: { input: unknown; steps: unknown }) => unknown;
  };
}

interface Definition {
  readonly input: StandardSchema<any, any>;
  readonly steps: readonly Step[];
}

/** Kept apart from the public face, which has names and types only. */
const definitions = new WeakMap<object, Definition>();

/**
 * Defines a workflow; add steps with `.step()`.
 *
 * @example
 * const order = workflow({ name: 'order', input: type<{ sku: string }>() })
 *   .step('reserve', reserve, { payload: ({ input }) => ({ sku: input.sku }) })
 *   .step('ship', ship, { after: ['reserve'], payload: ({ steps }) => ({ shelf: steps.reserve.shelf }) });
 * const { ship: { parcel } } = await (await millrace.start(order, { sku: 'a-1' })).result();
 */
export function workflow<I extends StandardSchema<any, any> = StandardSchema<{}, {}>>(definition: {
  name: string;
  input?: I;
}): Workflow<InOfSchema<I>, OutOfSchema<I>, {}> {
  const flow: unknown = build(definition.name, { input: definition.input ?? type<object>(), steps: [] });
  return flow as Workflow<InOfSchema<I>, OutOfSchema<I>, {}>;
}

function build(name: string, definition: Definition): AnyWorkflow {
  const self: AnyWorkflow = {
    name,
    steps: definition.steps.map((step) => step.name),
    step: (stepName: string, task: AnyTask, options: Step['options'] = {}) => {
      const known = definition.steps.map((step) => step.name);
      if (known.includes(stepName)) throw new TypeError(`the workflow ${name} has a step ${stepName} already`);
      const unknown = options.after?.find((other) => !known.includes(other));
      if (unknown !== undefined)
        throw new TypeError(`the step ${stepName} comes after ${unknown}, which is not above it`);
      return build(name, { ...definition, steps: [...definition.steps, { name: stepName, task, options }] });
    },
  } as AnyWorkflow;
  definitions.set(self, definition);
  return self;
}

/** The steps of a workflow for one input, as they are sent. Payload functions run here, once. */
export async function stepsFor(flow: AnyWorkflow, given: unknown): Promise<WorkflowStepInput[]> {
  const definition = definitions.get(flow);
  if (definition === undefined) throw new TypeError('not a workflow made by workflow()');
  if (definition.steps.length === 0) {
    throw new InvalidRequestError(`the workflow ${flow.name} has no steps`, { code: 'invalid_request' });
  }
  const input = await checked(definition.input, given, `the input of ${flow.name}`);
  return Promise.all(definition.steps.map((step) => stepInput(definition.steps, step, input)));
}

async function stepInput(steps: readonly Step[], step: Step, input: unknown): Promise<WorkflowStepInput> {
  const { name, task, options } = step;
  const { after = [], onFailure, metadata, payload: make, ...policy } = options;
  const { payload, wired } = withReferences(make?.({ input, steps: standIns(behind(steps, after)) }) ?? {}, name);
  // With references in it, a payload can only be checked where they are resolved: by the worker.
  if (!wired) await task.check(payload);
  const merged = mergePolicies(task.policy, policy);
  return {
    name,
    task_name: task.name,
    payload,
    depends_on: [...after],
    queue: merged.queue ?? task.queue,
    config: configOf(merged, wired ? null : payload),
    ...(onFailure !== undefined && { on_failure: onFailure }),
    ...(metadata !== undefined && { metadata }),
  };
}

/** The steps whose results a step may use: those it comes after, and those behind them. */
function behind(steps: readonly Step[], after: readonly string[]): string[] {
  const found = new Set<string>();
  const walk = (names: readonly string[]): void => {
    for (const name of names) {
      if (found.has(name)) continue;
      found.add(name);
      walk(steps.find((step) => step.name === name)?.options.after ?? []);
    }
  };
  walk(after);
  return [...found];
}
