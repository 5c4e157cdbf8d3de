import { PartialJobConfig, WORKFLOW_STEP_LIMITS, type OnFailure, type OnTimeout } from '@millrace/contract';
import { buildGraph, type Graph, type GraphProblem } from '../../domain/dag.js';
import { resolveJobConfig } from '../../domain/job-config.js';
import { OPAQUE, readJson, SCALAR, type Part } from '../../domain/json-outline.js';
import { objectText } from '../../domain/json-members.js';
import { rawFields, rawFieldsOfEach } from '../../domain/raw-json.js';
import { stepWhen, waitingStep } from '../../domain/step-rules.js';
import { textArray, uuidArray } from '../../store/arrays.js';
import type { Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { JsonText } from '../../domain/records.js';
import type { StepSpec, StepWaitSpec } from '../../domain/workflow-records.js';

/**
 * What a workflow is made of. The definition never changes, so a process reads and parses it once and keeps it:
 * advancing a workflow of a thousand steps a thousand times must not mean parsing a million steps.
 */
const sql = loadStatements('workflows/runs.sql');

export interface Definition {
  readonly graph: Graph;
  readonly steps: readonly StepSpec[];
  readonly indexOf: ReadonlyMap<string, number>;
  /** Which rules its steps go by: null are those of the first version, RULES those with conditions and waits. */
  readonly rules: number | null;
}

/** A program that does not know these rules cannot advance workflows that go by them (migration 0030). */
const RULES = 1;

export interface WorkflowKey {
  readonly tenant: string;
  readonly id: string;
}

/** In characters of caller JSON: it is payloads, not steps, that take memory. */
const MAX_KEPT = 64 * 1024 * 1024;
const STEP_OVERHEAD = 500;

export class Definitions {
  readonly #kept = new Map<string, Definition>();
  #weight = 0;

  /** Reads what is missing in the caller's transaction. */
  async of(keys: readonly WorkflowKey[], execute: Execute): Promise<ReadonlyMap<string, Definition>> {
    const found = new Map<string, Definition>();
    const missing: WorkflowKey[] = [];
    for (const key of keys) {
      const kept = this.#kept.get(key.id);
      if (kept) found.set(key.id, kept);
      else missing.push(key);
    }
    if (missing.length > 0) {
      const tenants = textArray(missing.map((key) => key.tenant));
      const statement = sql.definitions_of({ tenants, ids: uuidArray(missing.map((key) => key.id)) });
      for (const { id, definition } of await execute<{ id: string; definition: JsonText }>(statement)) {
        found.set(id, this.parsed(id, definition));
      }
    }
    return found;
  }

  /** For a caller that has already read the text. */
  parsed(id: string, text: JsonText): Definition {
    const kept = this.#kept.get(id);
    if (kept) return kept;
    const definition = parse(text);
    this.keep(id, definition);
    return definition;
  }

  keep(id: string, definition: Definition): void {
    if (this.#kept.has(id)) return;
    this.#kept.set(id, definition);
    this.#weight += weigh(definition);
    for (const oldest of this.#kept.keys()) {
      if (this.#weight <= MAX_KEPT) break;
      this.forget(oldest);
    }
  }

  forget(id: string): void {
    const kept = this.#kept.get(id);
    if (!kept) return;
    this.#kept.delete(id);
    this.#weight -= weigh(kept);
  }
}

const weigh = ({ steps }: Definition): number =>
  steps.reduce((sum, { payload, metadata, when, wait }) => {
    const rules = (when?.text.length ?? 0) + (wait?.ask?.length ?? 0);
    return sum + STEP_OVERHEAD + payload.length + (metadata?.length ?? 0) + rules;
  }, 0);

/** The definition of these steps, or the reason why they do not form one. */
export function define(
  steps: readonly StepSpec[],
): { readonly definition: Definition } | { readonly problem: GraphProblem } {
  const built = buildGraph(steps.map(({ when, ...step }) => ({ ...step, otherwise: when?.otherwise ?? null })));
  if ('problem' in built) return built;
  const hasRules = steps.some(({ when, wait }) => Boolean(when) || Boolean(wait));
  return {
    definition: {
      graph: built.graph,
      steps,
      indexOf: new Map(steps.map((step, index) => [step.name, index])),
      rules: hasRules ? RULES : null,
    },
  };
}

/** Whether it may begin without a root step. The context that it begins with is stored then, for want of a job. */
export const mayBeginWithout = ({ graph }: Definition): boolean =>
  graph.some(({ dependsOn, otherwise }) => dependsOn.length === 0 && otherwise !== null);

function parse(text: JsonText): Definition {
  const defined = define(parseSteps(text));
  if ('problem' in defined) throw new Error(`a stored workflow is not a graph: ${defined.problem.message}`);
  return defined.definition;
}

/** The definition as it is stored and shown. */
export const stepsText = (steps: readonly StepSpec[]): JsonText => `[${steps.map(stepText).join(',')}]`;

/** The same, as a request may have it: what follows from a wait is left out. */
export const requestedSteps = (steps: readonly StepSpec[]): JsonText => `[${steps.map(requestedStep).join(',')}]`;

const requestedStep = (step: StepSpec): JsonText =>
  objectText(membersOf(step).filter(([key]) => !step.wait || !OF_TASKS.has(key)));

const OF_TASKS: ReadonlySet<string> = new Set(['task_name', 'payload', 'config', 'queue']);

const stepText = (step: StepSpec): JsonText => objectText(membersOf(step));

function membersOf(step: StepSpec): (readonly [key: string, text: JsonText])[] {
  return [
    ['name', JSON.stringify(step.name)],
    ['task_name', JSON.stringify(step.task)],
    ['payload', step.payload],
    ['depends_on', JSON.stringify(step.dependsOn)],
    ['config', step.config],
    ['on_failure', JSON.stringify(step.onFailure)],
    ['on_success', '"continue"'],
    ['metadata', step.metadata ?? '{}'],
    ...(step.when ? [['when', step.when.text] as const] : []),
    ...(step.wait ? [['wait', waitText(step.wait)] as const] : []),
    ['queue', JSON.stringify(step.queue)],
  ];
}

const waitText = ({ signal, key, timeoutSecs, ask, onTimeout }: StepWaitSpec): JsonText =>
  objectText([
    ['signal', JSON.stringify(signal)],
    ['key', JSON.stringify(key)],
    ['timeout_secs', String(timeoutSecs)],
    ['ask', ask ?? 'null'],
    ['on_timeout', JSON.stringify(onTimeout)],
  ]);

interface StoredWait {
  readonly signal: string;
  readonly key: string | null;
  readonly timeout_secs: number;
  readonly on_timeout: OnTimeout;
}

interface StoredStep {
  readonly name: string;
  /** Absent, like the configuration, in a step that waits and was stored as it was requested. */
  readonly task_name?: string;
  readonly depends_on: readonly string[];
  readonly config?: PartialJobConfig;
  readonly on_failure: OnFailure;
  /** Absent in what was stored before steps had a queue of their own. */
  readonly queue?: string | null;
}

/** Payload and metadata are the caller's, and are not looked into. */
const STORED_STEPS: Part = {
  kind: 'list',
  most: WORKFLOW_STEP_LIMITS.maximum,
  items: {
    kind: 'object',
    members: new Map<string, Part>([
      ['name', SCALAR],
      ['task_name', SCALAR],
      ['payload', OPAQUE],
      ['depends_on', { kind: 'list', most: WORKFLOW_STEP_LIMITS.maximum, items: SCALAR }],
      [
        'config',
        { kind: 'object', members: new Map(Object.keys(PartialJobConfig.properties).map((key) => [key, SCALAR])) },
      ],
      ['on_failure', SCALAR],
      ['on_success', SCALAR],
      ['metadata', OPAQUE],
      ['when', OPAQUE],
      ['wait', OPAQUE],
      ['queue', SCALAR],
    ]),
  },
};

/** The steps of a stored definition. */
export function parseSteps(definition: JsonText): StepSpec[] {
  const read = readJson(definition, () => STORED_STEPS);
  if (read.kind !== 'read') throw new Error(`a stored workflow cannot be read: ${read.kind}`);
  const parsed = read.value as readonly StoredStep[];
  return rawFieldsOfEach(definition, ['payload', 'metadata', 'when', 'wait']).map((texts, index) => {
    const [payload = '{}', metadata = null, when, wait] = texts;
    const step = parsed[index]!;
    return {
      name: step.name,
      task: step.task_name ?? '',
      payload,
      dependsOn: step.depends_on,
      config: JSON.stringify(step.config ?? {}),
      jobConfig: resolveJobConfig(step.config ?? {}),
      onFailure: step.on_failure,
      metadata,
      queue: step.queue ?? null,
      ...(when !== undefined && { when: stepWhen(when) }),
      ...(wait !== undefined && waitingStep(storedWait(wait))),
    };
  });
}

function storedWait(text: JsonText): StepWaitSpec {
  const { signal, key, timeout_secs: timeoutSecs, on_timeout: onTimeout } = JSON.parse(text) as StoredWait;
  const [ask = 'null'] = rawFields(text, ['ask']);
  return { signal, key, timeoutSecs, ask: ask === 'null' ? null : ask, onTimeout };
}

/** How every definition ends whose steps know of queues: in a member that is the last one of its step. */
const ENDS_IN_QUEUE = /,"queue":(?:null|"(?:[^"\\]|\\.)*")\}\]$/;
const TAIL = 2_048;

/** A stored definition as it is shown. One from before steps had a queue shows that they had none. */
export const shownSteps = (text: JsonText): JsonText =>
  ENDS_IN_QUEUE.test(text.slice(-TAIL)) ? text : stepsText(parseSteps(text));
