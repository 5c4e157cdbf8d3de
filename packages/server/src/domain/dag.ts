import { WORKFLOW_MAX_DEPENDENCIES, type OnFailure, type TerminalWorkflowStatus } from '@millrace/contract';

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
  skipped: 's',
} as const;

export type StepLetter = (typeof STEP)[keyof typeof STEP];
export type RunState = string;

export interface GraphStep {
  readonly name: string;
  readonly dependsOn: readonly number[];
  readonly dependents: readonly number[];
  readonly onFailure: OnFailure;
}

export type Graph = readonly GraphStep[];

export interface StepDefinition {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly onFailure: OnFailure;
}

export interface GraphProblem {
  readonly step: number;
  readonly field: 'name' | 'depends_on';
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
  const graph = definitions.map(({ name, onFailure }, step) => ({
    name,
    onFailure,
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
export function findExcess(graph: Graph): GraphProblem | null {
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

export function begin(graph: Graph): Advance {
  const letters = graph.map((step): StepLetter => (step.dependsOn.length === 0 ? STEP.enqueued : STEP.blocked));
  const enqueue = letters.flatMap((letter, step) => (letter === STEP.enqueued ? [step] : []));
  return { state: letters.join(''), enqueue, cancel: [], end: null };
}

/**
 * What follows when the jobs of steps end, all at once: first every step takes its own outcome, then the policies
 * apply, so the order within one batch does not matter. Outcomes of steps without an unfinished job change nothing.
 */
export function advance(graph: Graph, state: RunState, outcomes: readonly StepOutcome[]): Advance {
  const letters = [...state] as StepLetter[];
  const ended = outcomes.filter(({ step }) => letters[step] === STEP.enqueued);
  for (const { step, outcome } of ended) letters[step] = LETTER[outcome];
  const troubled = ended.filter(({ outcome }) => outcome !== 'completed').map(({ step }) => step);
  if (troubled.some((step) => graph[step]?.onFailure === 'halt')) return stop(letters, 'failed');
  for (const step of troubled) if (graph[step]?.onFailure === 'skip') skipDependents(graph, letters, step);
  const enqueue: number[] = [];
  for (const { step } of ended) {
    for (const dependent of graph[step]?.dependents ?? []) {
      if (letters[dependent] !== STEP.blocked || !isSatisfied(graph, letters, dependent)) continue;
      letters[dependent] = STEP.enqueued;
      enqueue.push(dependent);
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

function skipDependents(graph: Graph, letters: StepLetter[], from: number): void {
  const open = [from];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    for (const dependent of graph[step]?.dependents ?? []) {
      if (letters[dependent] !== STEP.blocked) continue;
      letters[dependent] = STEP.skipped;
      open.push(dependent);
    }
  }
}

export function isSatisfied(graph: Graph, letters: readonly StepLetter[], step: number): boolean {
  return (graph[step]?.dependsOn ?? []).every((dependency) => satisfies(graph, letters, dependency));
}

function satisfies(graph: Graph, letters: readonly StepLetter[], step: number): boolean {
  const letter = letters[step];
  if (letter === STEP.completed) return true;
  return (letter === STEP.failed || letter === STEP.cancelled) && graph[step]?.onFailure === 'continue';
}

function endOf(letters: readonly StepLetter[]): WorkflowEnd | null {
  let flawless = true;
  for (const letter of letters) {
    if (letter === STEP.enqueued || letter === STEP.blocked) return null;
    if (letter !== STEP.completed) flawless = false;
  }
  return flawless ? 'completed' : 'partially_failed';
}
