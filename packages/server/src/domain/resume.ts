import {
  markBehind,
  STEP,
  turnsOf,
  type Advance,
  type Graph,
  type Holds,
  type RunState,
  type StepLetter,
} from './dag.js';

/**
 * What a resume does to the steps of a workflow that has ended: a pure function, like the rules in dag.ts.
 *
 * Without names, every step that failed or was cancelled is reset; with names, those steps. Everything behind a reset
 * step is reset too. Steps that are not reset keep their state, and what follows from it: a step behind a reset one
 * that also depends on a failure under `skip`, or on a skipped step, stays skipped. Conditions of reset steps are
 * judged anew, when their turn comes.
 */
export interface Resumption {
  /** With the reset steps blocked. */
  readonly state: RunState;
  /** Steps that will run again, or whose condition will be judged again, in order of definition. */
  readonly reset: readonly number[];
}

/** A step that cannot run again, because a dependency neither completed nor runs again. */
export interface ResumeProblem {
  readonly step: number;
  readonly dependency: number;
}

export type Resumed = { readonly resumption: Resumption } | { readonly problem: ResumeProblem };

type Verdict = 'fine' | 'skipped' | 'left out' | 'never';

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
    const isSkipped = verdicts.some(({ verdict }) => verdict === 'skipped');
    const isLeftOut = !isNamed && (isSkipped || verdicts.some(({ verdict }) => verdict === 'left out'));
    const hindrance = verdicts.find(({ dependency, verdict }) =>
      isNamed ? !reset.has(dependency) && letters[dependency] !== STEP.completed : verdict === 'never',
    );
    if (hindrance && !isLeftOut) return { problem: { step, dependency: hindrance.dependency } };
    if (!isLeftOut) continue;
    reset.delete(step);
    letters[step] = isSkipped ? STEP.skipped : STEP.leftOut;
  }
  for (const step of reset) letters[step] = STEP.blocked;
  ruleOut(graph, letters);
  return { resumption: { state: letters.join(''), reset: [...reset].sort(ascending) } };
}

/** What was cancelled with the workflow and is not reset counts from now on as if it had been cancelled by itself. */
function ruleOut(graph: Graph, letters: StepLetter[]): void {
  for (const [step, letter] of letters.entries())
    if (isBroken(letter) && graph[step]!.onFailure === 'skip') markBehind(graph, letters, step, STEP.skipped, LEFT_OUT);
}

const LEFT_OUT: ReadonlySet<StepLetter> = new Set([STEP.leftOut]);

/** The turns that come at once. If no condition holds, the workflow may end again before anything has run. */
export const restart = (graph: Graph, { state, reset }: Resumption, holds: Holds = () => true): Advance =>
  turnsOf(graph, [...state] as StepLetter[], reset, holds);

/** What a dependency means for a step behind a reset one. */
function judge(graph: Graph, letters: readonly StepLetter[], reset: ReadonlySet<number>, dependency: number): Verdict {
  const letter = letters[dependency]!;
  if (reset.has(dependency) || letter === STEP.completed || letter === STEP.passed) return 'fine';
  if (letter === STEP.skipped) return 'skipped';
  if (letter === STEP.leftOut) return 'left out';
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
