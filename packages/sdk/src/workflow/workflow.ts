/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-empty-object-type --
   the defaults of the type parameters: a workflow without input takes {} */
import { InvalidRequestError } from '../errors/call-errors.js';
import type { JsonObject } from '../json/object.js';
import { wholeSeconds, type Duration } from '../shared/duration.js';
import { configOf, defined, mergePolicies, type Policy } from '../task/policy.js';
import type { InputSchema } from '../task/json-only.js';
import type { InOfSchema, OutOfSchema, StandardSchema } from '../task/schema.js';
import { checked } from '../task/task.js';
import type { AnyTask } from '../task/types.js';
import type { Ask, OnFailure, OnTimeout, StepCondition, StepWait, WorkflowStepInput } from '../wire/index.js';
import { standIns, withReferences } from './stand-ins.js';
import type { AnyWorkflow, Condition, Workflow } from './types.js';

interface Step {
  readonly name: string;
  /** Of one that `map` made: what it has in common with the others. */
  readonly group?: string;
  readonly work: AnyTask | WaitsFor;
  /** As it is sent: steps, no groups. */
  readonly after: readonly string[];
  readonly options: SharedOptions & { payload?: (from: From) => unknown };
}

/** What a step waits for that runs no task. */
interface WaitsFor {
  readonly timeout: Duration;
  readonly signal?: string;
  readonly key?: string | ((from: From) => string);
  readonly ask?: Ask | ((from: From) => Ask);
  readonly onTimeout?: OnTimeout;
}

interface From {
  readonly input: unknown;
  readonly steps: unknown;
}

type SharedOptions = Policy & {
  after?: readonly string[];
  onFailure?: OnFailure;
  metadata?: JsonObject;
  when?: (from: From) => Condition;
};
type WaitStepOptions = SharedOptions & WaitsFor & { output?: unknown };
type MapStepOptions = SharedOptions & { payload: (from: From, item: unknown, index: number) => unknown };

interface Definition {
  readonly input: StandardSchema<any, any> | undefined;
  readonly steps: readonly Step[];
  /** The steps that `map` made, by their common name. */
  readonly groups: ReadonlyMap<string, Group>;
}

interface Group {
  readonly names: readonly string[];
  /** What they come after: whoever comes after none of them comes after that. */
  readonly after: readonly string[];
}

/** Where the input is kept in the context, for those who look at a workflow. */
const INPUT = 'input';

/** Kept apart from the public face, which has names and types only; the same key in every copy of the package. */
const DEFINITION = Symbol.for('@millrace/sdk/workflow');

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
  input?: InputSchema<I>;
}): Workflow<InOfSchema<I>, OutOfSchema<I>, {}> {
  const flow: unknown = build(definition.name, {
    input: definition.input as I | undefined,
    steps: [],
    groups: new Map(),
  });
  return flow as Workflow<InOfSchema<I>, OutOfSchema<I>, {}>;
}

function build(name: string, definition: Definition): AnyWorkflow {
  const { steps, groups } = definition;
  const checkedAfter = (stepName: string, { after = [] }: Step['options']): readonly string[] => {
    const known = [...steps.map((step) => step.name), ...groups.keys()];
    if (known.includes(stepName)) throw new TypeError(`the workflow ${name} has a step ${stepName} already`);
    if (stepName === INPUT && definition.input !== undefined) {
      throw new TypeError(`a step cannot be called ${INPUT}: the context holds the input of ${name} under that name`);
    }
    const unknown = after.find((other) => !known.includes(other));
    if (unknown !== undefined)
      throw new TypeError(`the step ${stepName} comes after ${unknown}, which is not a step above it`);
    return after.flatMap((other) => membersOf(groups, other));
  };
  const self: AnyWorkflow = {
    name,
    steps: steps.map((step) => step.name),
    step: (stepName: string, task: AnyTask, options: Step['options'] = {}) => {
      const after = checkedAfter(stepName, options);
      return build(name, { ...definition, steps: [...steps, { name: stepName, work: task, after, options }] });
    },
    wait: (stepName: string, given: WaitStepOptions) => {
      const { timeout, signal = stepName, key, ask, onTimeout, output: _, ...options } = given;
      const after = checkedAfter(stepName, options);
      const work: WaitsFor = { timeout, signal, ...defined({ key, ask, onTimeout }) };
      return build(name, { ...definition, steps: [...steps, { name: stepName, work, after, options }] });
    },
    map: (group: string, items: readonly unknown[], task: AnyTask, { payload, ...options }: MapStepOptions) => {
      const after = checkedAfter(group, options);
      const made = items.map((item, index): Step => {
        const made = (from: From): unknown => payload(from, item, index);
        return { name: `${group}-${index}`, group, work: task, after, options: { ...options, payload: made } };
      });
      const twice = made.find((each) => steps.some((step) => step.name === each.name));
      if (twice) throw new TypeError(`the workflow ${name} has a step ${twice.name} already`);
      const added: Group = { names: made.map((step) => step.name), after };
      return build(name, { ...definition, steps: [...steps, ...made], groups: new Map([...groups, [group, added]]) });
    },
  } as AnyWorkflow;
  return Object.defineProperty(self, DEFINITION, { value: definition });
}

function membersOf(groups: Definition['groups'], name: string): readonly string[] {
  const group = groups.get(name);
  if (group === undefined) return [name];
  return group.names.length > 0 ? group.names : group.after;
}

function definitionOf(flow: AnyWorkflow): Definition {
  const definition = (flow as { [DEFINITION]?: Definition })[DEFINITION];
  if (definition === undefined) throw new TypeError('not a workflow made by workflow()');
  return definition;
}

/** The results by step with those of a `map` as a list under their common name, as the types say. */
export function grouped(flow: AnyWorkflow, results: JsonObject): JsonObject {
  const { groups } = definitionOf(flow);
  const members = new Set([...groups.values()].flatMap(({ names }) => names));
  const single = Object.entries(results).filter(([name]) => !members.has(name));
  const lists = [...groups].map(([group, { names }]) => [group, names.map((name) => results[name])]);
  return Object.fromEntries([...single, ...(lists as [string, unknown][])]);
}

/** A workflow for one input, as it is sent. Payload functions run here, once. */
export async function definitionFor(
  flow: AnyWorkflow,
  given: unknown,
): Promise<{ steps: WorkflowStepInput[]; context?: JsonObject }> {
  const definition = definitionOf(flow);
  if (definition.steps.length === 0) {
    throw new InvalidRequestError(`the workflow ${flow.name} has no steps`, { code: 'invalid_request' });
  }
  const input = await checked(definition.input, given, `the input of ${flow.name}`);
  const steps = await Promise.all(definition.steps.map((step) => stepInput(definition, step, input)));
  return { steps, ...(definition.input !== undefined && { context: { [INPUT]: input } }) };
}

async function stepInput(definition: Definition, step: Step, input: unknown): Promise<WorkflowStepInput> {
  const { name, work, after, options } = step;
  const { after: _, onFailure, metadata, payload: make, when, ...policy } = options;
  const from = { input, steps: standIns(behind(definition.steps, after), definition.groups) };
  const shared = {
    name,
    depends_on: [...after],
    ...(onFailure !== undefined && { on_failure: onFailure }),
    ...(metadata !== undefined && { metadata }),
    ...(when !== undefined && { when: conditionOf(when(from), name) }),
  };
  if ('timeout' in work) return { ...shared, wait: waitOf(work, from) };
  const { payload, wired } = withReferences(make?.(from) ?? {}, name);
  // With references in it, a payload can only be checked where they are resolved: by the worker.
  if (!wired) await work.check(payload);
  const merged = mergePolicies(work.policy, policy);
  return {
    ...shared,
    task_name: work.name,
    payload,
    queue: merged.queue ?? work.queue,
    config: configOf(merged, wired ? null : payload),
  };
}

function conditionOf({ ref, is, isNot, in: among, otherwise }: Condition, name: string): StepCondition {
  const { payload } = withReferences({ ref }, name);
  return {
    ref: payload.ref as StepCondition['ref'],
    ...defined({ is, is_not: isNot, in: among && [...among], otherwise }),
  };
}

const waitOf = ({ timeout, signal, key, ask, onTimeout }: WaitsFor, from: From): StepWait => ({
  signal: signal!,
  timeout_secs: wholeSeconds(timeout),
  ...defined({
    key: typeof key === 'function' ? key(from) : key,
    ask: typeof ask === 'function' ? ask(from) : ask,
    on_timeout: onTimeout,
  }),
});

/** The steps whose results a step may use: those it comes after, and those behind them. */
function behind(steps: readonly Step[], after: readonly string[]): string[] {
  const found = new Set<string>();
  const walk = (names: readonly string[]): void => {
    for (const name of names) {
      if (found.has(name)) continue;
      found.add(name);
      walk(steps.find((step) => step.name === name)?.after ?? []);
    }
  };
  walk(after);
  return [...found];
}
