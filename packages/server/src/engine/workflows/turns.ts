import { judge, type Condition } from '../../domain/conditions.js';
import { STEP, type Advance, type Holds } from '../../domain/dag.js';
import type { JsonText } from '../../domain/records.js';
import type { Execute } from '../../store/connection/database.js';
import type { Definition } from './definitions.js';
import { currentContexts, type CompletedStep } from './run-context.js';
import type { Change, LockedRun } from './run-writer.js';

/**
 * What happens to runs, with the conditions judged whose turn comes because of it. A run whose turn needs no condition
 * costs no statement here: its context is not read.
 */
export interface Move {
  readonly locked: LockedRun;
  /** Steps that complete with it, in order. */
  readonly completed: readonly CompletedStep[];
  readonly contextBytes: number;
  /** What follows, by the rules of domain/dag.ts. */
  next(holds: Holds): Advance;
}

export async function changesOf(execute: Execute, moves: readonly Move[]): Promise<Change[]> {
  const first = moves.map((move) => withoutConditions(move));
  const judged = moves.filter((_, index) => first[index] === null);
  if (judged.length === 0) return first as Change[];
  const contexts = await currentContexts(
    execute,
    judged.map(({ locked, completed }) => ({ run: locked, completed })),
  );
  return moves.map((move, index) => first[index] ?? withConditions(move, contexts.get(move.locked.id)!));
}

/** Null: a condition has to be judged first. */
function withoutConditions(move: Move): Change | null {
  let isAsked = false;
  const next = move.next(() => (isAsked = true));
  return isAsked ? null : changeOf(move, next);
}

function withConditions(move: Move, context: JsonText): Change {
  const { locked, completed } = move;
  const late = new Set(completed.map(({ step }) => step));
  const holds = conditionsIn(
    locked.definition,
    context,
    (step) => locked.state[step] === STEP.completed || late.has(step),
  );
  return { ...changeOf(move, move.next(holds)), context };
}

const changeOf = ({ locked, completed, contextBytes }: Move, advance: Advance): Change => ({
  locked,
  advance,
  completed,
  contextBytes,
});

/** Judges every condition of the definition at once, when the first of them is asked for. */
export function conditionsIn(
  { steps, indexOf }: Definition,
  context: JsonText,
  hasCompleted: (step: number) => boolean,
): Holds {
  let verdicts: ReadonlyMap<number, boolean> | null = null;
  const judgeAll = (): ReadonlyMap<number, boolean> => {
    const places: number[] = [];
    const conditions: Condition[] = [];
    steps.forEach(({ when }, step) => {
      if (!when) return;
      places.push(step);
      conditions.push(when);
    });
    const held = judge(context, conditions, (name) => hasCompleted(indexOf.get(name) ?? -1));
    return new Map(places.map((step, n) => [step, held[n]!]));
  };
  return (step) => (verdicts ??= judgeAll()).get(step) ?? true;
}
