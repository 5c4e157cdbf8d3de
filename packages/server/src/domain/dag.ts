import {
  WORKFLOW_MAX_DEPENDENCIES,
  type OnFailure,
  type Otherwise,
  type TerminalWorkflowStatus,
} from '@millrace/contract';

/**
 * The rules of workflows: pure functions over a graph and the state of its steps.
 *
 * The state of a run is one letter per step, in order of definition. It says what the workflow knows by itself; whether
 * the job of an enqueued step is waiting, running or retrying at this moment is recorded with the job.
 */
export const STEP = {
  /** Its dependencies are not all satisfied. */
  blocked: 'b',
  /** Its job exists and has not ended. */
  enqueued: 'q',
  completed: 'c',
  failed: 'f',
  cancelled: 'x',
  /** A step that it depends on failed under `skip`. */
  skipped: 's',
  /** A condition did not hold: its own, or that of a step that it depends on. What follows is left out too. */
  leftOut: 'n',
  /** Its own condition did not hold, and what follows runs. */
  passed: 'p',
} as const;

export type StepLetter = (typeof STEP)[keyof typeof STEP];
export type RunState = string;

export interface GraphStep {
  readonly name: string;
  readonly dependsOn: readonly number[];
  readonly dependents: readonly number[];
  readonly onFailure: OnFailure;
  /** What follows if its condition does not hold; null: it has none. */
  readonly otherwise: Otherwise | null;
}

export type Graph = readonly GraphStep[];

export interface StepDefinition {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly onFailure: OnFailure;
  readonly otherwise?: Otherwise | null;
}

export interface GraphProblem {
  readonly step: number;
  readonly field: 'name' | 'depends_on' | 'when.ref.$step';
  readonly message: string;
}

export type BuiltGraph = { readonly graph: Graph } | { readonly problem: GraphProblem };

/** The graph of the definitions, or the first thing that is wrong with them. A dependency named twice counts once. */
export function buildGraph(definitions: readonly StepDefinition[]): BuiltGraph {
  const indexOf = new Map<string, number>();
  for (const [step, { name }] of definitions.entries()) {
    if (indexOf.has(name)) return { problem: { step, field: 'name', message: `duplicate step name ${quote(name)}` } };
    indexOf.set(name, step);
  }
  const dependents = definitions.map((): number[] => []);
  const dependsOn: number[][] = [];
  for (const [step, definition] of definitions.entries()) {
    const own: number[] = [];
    for (const name of new Set(definition.dependsOn)) {
      const dependency = indexOf.get(name);
      if (dependency === undefined) {
        const message = `step ${quote(definition.name)} depends on ${quote(name)}, which is not a step`;
        return { problem: { step, field: 'depends_on', message } };
      }
      if (dependency === step) {
        return { problem: { step, field: 'depends_on', message: `step ${quote(name)} depends on itself` } };
      }
      own.push(dependency);
      dependents[dependency]?.push(step);
    }
    dependsOn.push(own);
  }
  const graph = definitions.map(({ name, onFailure, otherwise = null }, step) => ({
    name,
    onFailure,
    otherwise,
    dependsOn: dependsOn[step] ?? [],
    dependents: dependents[step] ?? [],
  }));
  const cycle = findCycle(graph);
  if (cycle) {
    const names = [...cycle, cycle[0] ?? 0].map((step) => quote(graph[step]?.name ?? ''));
    const message = `the steps form a cycle: ${names.join(' -> ')}`;
    return { problem: { step: cycle[0] ?? 0, field: 'depends_on', message } };
  }
  return { graph };
}

/**
 * The first step whose dependencies, counted together with those of the steps before it, are too many. Checked when a
 * workflow is created, not when it is read: one that was stored before there was a limit still runs.
 */
export function findTooManyDependencies(graph: Graph): GraphProblem | null {
  let count = 0;
  for (const [step, { dependsOn }] of graph.entries()) {
    count += dependsOn.length;
    if (count <= WORKFLOW_MAX_DEPENDENCIES) continue;
    const message = `a workflow may have at most ${WORKFLOW_MAX_DEPENDENCIES} dependencies, all steps together`;
    return { step, field: 'depends_on', message };
  }
  return null;
}

/**
 * The first step whose condition refers to a step that it does not depend on, directly or not: whether that one has a
 * result then would be a matter of luck. `refs`: the names that conditions refer to, by step.
 */
export function findUnrelatedReference(graph: Graph, refs: readonly (string | null)[]): GraphProblem | null {
  for (const [step, ref] of refs.entries()) {
    if (ref === null || isBefore(graph, ref, step)) continue;
    const condition = `the condition of step ${quote(graph[step]!.name)}`;
    const message = `${condition} refers to ${quote(ref)}, which it does not depend on`;
    return { step, field: 'when.ref.$step', message };
  }
  return null;
}

function isBefore(graph: Graph, name: string, step: number): boolean {
  const seen = new Set([step]);
  const open = [step];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const dependency of graph[at]!.dependsOn) {
      if (graph[dependency]!.name === name) return true;
      if (seen.has(dependency)) continue;
      seen.add(dependency);
      open.push(dependency);
    }
  }
  return false;
}

/**
 * Steps on a cycle, each depending on the one before it, starting with the one defined first; null if there is none.
 */
function findCycle(graph: Graph): number[] | null {
  const open = graph.map((step) => step.dependsOn.length);
  const free = open.flatMap((n, step) => (n === 0 ? [step] : []));
  for (let step = free.pop(); step !== undefined; step = free.pop()) {
    for (const dependent of graph[step]?.dependents ?? []) {
      const left = (open[dependent] ?? 0) - 1;
      open[dependent] = left;
      if (left === 0) free.push(dependent);
    }
  }
  const stuck = open.findIndex((n) => n > 0);
  if (stuck === -1) return null;
  // A step that is stuck depends on another that is stuck, so walking up the dependencies must lead round a cycle.
  const seen = new Map<number, number>();
  const path: number[] = [];
  let step = stuck;
  while (!seen.has(step)) {
    seen.set(step, path.length);
    path.push(step);
    step = graph[step]?.dependsOn.find((dependency) => (open[dependency] ?? 0) > 0) ?? step;
  }
  const cycle = path.slice(seen.get(step)).reverse();
  const first = cycle.indexOf(Math.min(...cycle));
  return [...cycle.slice(first), ...cycle.slice(0, first)];
}

const quote = (name: string): string => JSON.stringify(name);

export interface StepOutcome {
  readonly step: number;
  readonly outcome: 'completed' | 'failed' | 'cancelled';
}

export type WorkflowEnd = TerminalWorkflowStatus;

export interface Advance {
  readonly state: RunState;
  /** Steps whose jobs must be created now. */
  readonly enqueue: readonly number[];
  /** Steps whose jobs must be cancelled now. */
  readonly cancel: readonly number[];
  readonly end: WorkflowEnd | null;
}

/** Whether the condition of a step holds, now that its turn has come. Asked only of steps that have one. */
export type Holds = (step: number) => boolean;

const always: Holds = () => true;

export function begin(graph: Graph, holds: Holds = always): Advance {
  const letters = graph.map((): StepLetter => STEP.blocked);
  const roots = graph.flatMap((step, index) => (step.dependsOn.length === 0 ? [index] : []));
  return turnsOf(graph, letters, roots, holds);
}

/**
 * What follows when the jobs of steps end, all at once: first every step takes its own outcome, then the policies
 * apply, so the order within one batch does not matter. Outcomes of steps without an unfinished job change nothing.
 */
export function advance(
  graph: Graph,
  state: RunState,
  outcomes: readonly StepOutcome[],
  holds: Holds = always,
): Advance {
  const letters = [...state] as StepLetter[];
  const ended = outcomes.filter(({ step }) => letters[step] === STEP.enqueued);
  for (const { step, outcome } of ended) letters[step] = LETTER[outcome];
  const troubled = ended.filter(({ outcome }) => outcome !== 'completed').map(({ step }) => step);
  const before = troubled.length === 0 ? letters : [...letters];
  for (const step of troubled)
    if (graph[step]?.onFailure === 'skip') markBehind(graph, letters, step, STEP.skipped, SKIPPABLE);
  if (troubled.some((step) => graph[step]?.onFailure === 'halt')) {
    // What would be skipped from now on is cancelled with the rest.
    return stop(
      letters.map((letter, step) => (before[step] === STEP.blocked ? STEP.blocked : letter)),
      'failed',
    );
  }
  const behind = ended.flatMap(({ step }) => graph[step]?.dependents ?? []);
  return turnsOf(graph, letters, behind, holds);
}

/**
 * The turns of these steps, and of what follows from their conditions: those whose dependencies are satisfied are
 * enqueued or, if their condition does not hold, passed over. Conditions are judged against one context, so the order
 * does not matter.
 */
export function turnsOf(graph: Graph, letters: StepLetter[], steps: readonly number[], holds: Holds): Advance {
  const enqueue: number[] = [];
  const open = [...steps];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    if (letters[step] !== STEP.blocked || !isSatisfied(graph, letters, step)) continue;
    const { otherwise, dependents } = graph[step]!;
    if (otherwise === null || holds(step)) {
      letters[step] = STEP.enqueued;
      enqueue.push(step);
    } else if (otherwise === 'continue') {
      letters[step] = STEP.passed;
      for (const dependent of dependents) open.push(dependent);
    } else {
      letters[step] = STEP.leftOut;
      markBehind(graph, letters, step, STEP.leftOut, UNDECIDED);
    }
  }
  enqueue.sort((a, b) => a - b);
  return { state: letters.join(''), enqueue, cancel: [], end: endOf(letters) };
}

/** The workflow is cancelled by its tenant: every unfinished step is cancelled. */
export function cancelRun(state: RunState): Advance {
  return stop([...state] as StepLetter[], 'cancelled');
}

const LETTER = { completed: STEP.completed, failed: STEP.failed, cancelled: STEP.cancelled } as const;

function stop(letters: StepLetter[], end: WorkflowEnd): Advance {
  const cancel: number[] = [];
  for (const [step, letter] of letters.entries()) {
    if (letter === STEP.enqueued) cancel.push(step);
    if (letter === STEP.enqueued || letter === STEP.blocked) letters[step] = STEP.cancelled;
  }
  return { state: letters.join(''), enqueue: [], cancel, end };
}

/** What a failure rules out, it rules out although a condition did so before: so the order does not matter. */
const SKIPPABLE: ReadonlySet<StepLetter> = new Set([STEP.blocked, STEP.leftOut]);
const UNDECIDED: ReadonlySet<StepLetter> = new Set([STEP.blocked]);

/** Marks what follows a step, as far as it has one of the letters. */
export function markBehind(
  graph: Graph,
  letters: StepLetter[],
  from: number,
  mark: StepLetter,
  over: ReadonlySet<StepLetter>,
): void {
  const open = [from];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    for (const dependent of graph[step]?.dependents ?? []) {
      if (!over.has(letters[dependent]!)) continue;
      letters[dependent] = mark;
      open.push(dependent);
    }
  }
}

export function isSatisfied(graph: Graph, letters: readonly StepLetter[], step: number): boolean {
  return (graph[step]?.dependsOn ?? []).every((dependency) => satisfies(graph, letters, dependency));
}

function satisfies(graph: Graph, letters: readonly StepLetter[], step: number): boolean {
  const letter = letters[step];
  if (letter === STEP.completed || letter === STEP.passed) return true;
  return (letter === STEP.failed || letter === STEP.cancelled) && graph[step]?.onFailure === 'continue';
}

/** A condition that does not hold is no failure. */
const FLAWLESS: ReadonlySet<StepLetter> = new Set([STEP.completed, STEP.leftOut, STEP.passed]);

function endOf(letters: readonly StepLetter[]): WorkflowEnd | null {
  let flawless = true;
  for (const letter of letters) {
    if (letter === STEP.enqueued || letter === STEP.blocked) return null;
    if (!FLAWLESS.has(letter)) flawless = false;
  }
  return flawless ? 'completed' : 'partially_failed';
}
