import { isSatisfied, STEP, type Graph, type RunState, type StepLetter } from './dag.js';

/**
 * What a resume does to the steps of a workflow that has ended: a pure function, like the rules in dag.ts.
 *
 * Without names, every step that failed or was cancelled is reset; with names, those steps. Everything behind a reset
 * step is reset too. Steps that are not reset keep their state, and what follows from it: a step behind a reset one
 * that also depends on a failure under `skip`, or on a skipped step, stays skipped.
 */
export interface Resumption {
  readonly state: RunState;
  /** Steps that will run again, in order of definition. */
  readonly reset: readonly number[];
  /** Those of them whose turn it is. */
  readonly enqueue: readonly number[];
}

/** A step that cannot run again, because a dependency neither completed nor runs again. */
export interface ResumeProblem {
  readonly step: number;
  readonly dependency: number;
}

export type Resumed = { readonly resumption: Resumption } | { readonly problem: ResumeProblem };

type Verdict = 'fine' | 'skipped' | 'never';

export function resumeRun(graph: Graph, state: RunState, named: readonly number[] | null): Resumed {
  const letters = [...state] as StepLetter[];
  const first = new Set(named ?? letters.flatMap((letter, step) => (isBroken(letter) ? [step] : [])));
  const reset = behind(graph, first);
  for (const step of inOrder(graph, reset)) {
    const verdicts = graph[step]!.dependsOn.map((dependency) => ({
      dependency,
      verdict: judge(graph, letters, reset, dependency),
    }));
    // A step that was named itself must be able to run. One behind it may have to be left out.
    const isNamed = named !== null && first.has(step);
    const isLeftOut = !isNamed && verdicts.some(({ verdict }) => verdict === 'skipped');
    const hindrance = verdicts.find(({ dependency, verdict }) =>
      isNamed ? !reset.has(dependency) && letters[dependency] !== STEP.completed : verdict === 'never',
    );
    if (hindrance && !isLeftOut) return { problem: { step, dependency: hindrance.dependency } };
    if (!isLeftOut) continue;
    reset.delete(step);
    letters[step] = STEP.skipped;
  }
  return { resumption: restart(graph, letters, [...reset].sort(ascending)) };
}

function restart(graph: Graph, letters: StepLetter[], reset: readonly number[]): Resumption {
  for (const step of reset) letters[step] = STEP.blocked;
  const enqueue = reset.filter((step) => isSatisfied(graph, letters, step));
  for (const step of enqueue) letters[step] = STEP.enqueued;
  return { state: letters.join(''), reset, enqueue };
}

/** What a dependency means for a step behind a reset one. */
function judge(graph: Graph, letters: readonly StepLetter[], reset: ReadonlySet<number>, dependency: number): Verdict {
  const letter = letters[dependency]!;
  if (reset.has(dependency) || letter === STEP.completed) return 'fine';
  if (letter === STEP.skipped) return 'skipped';
  const { onFailure } = graph[dependency]!;
  if (onFailure === 'continue') return 'fine';
  return onFailure === 'skip' ? 'skipped' : 'never';
}

const isBroken = (letter: StepLetter): boolean => letter === STEP.failed || letter === STEP.cancelled;

const ascending = (one: number, two: number): number => one - two;

/** These steps and everything that depends on them. */
function behind(graph: Graph, first: ReadonlySet<number>): Set<number> {
  const found = new Set(first);
  const open = [...first];
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    for (const dependent of graph[step]!.dependents) {
      if (found.has(dependent)) continue;
      found.add(dependent);
      open.push(dependent);
    }
  }
  return found;
}

/** The steps, each after those of them that it depends on. */
function inOrder(graph: Graph, steps: ReadonlySet<number>): number[] {
  const open = new Map(
    [...steps].map((step) => [step, graph[step]!.dependsOn.filter((each) => steps.has(each)).length]),
  );
  const order = [...steps].filter((step) => open.get(step) === 0);
  for (const step of order) {
    for (const dependent of graph[step]!.dependents) {
      const left = open.get(dependent)! - 1;
      open.set(dependent, left);
      if (left === 0) order.push(dependent);
    }
  }
  return order;
}
