/** When a step ran, in milliseconds since 1970; null where that has not happened. */
export interface StepTimes {
  readonly name: string;
  readonly dependsOn: readonly string[];
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

export interface CriticalPath {
  /** In the order they ran. */
  readonly names: readonly string[];
  readonly ms: number;
}

/**
 * The chain that decided how long the workflow took: from the step that ended last (or is running), back by way of
 * whichever dependency ended last, to one that waited for nothing. Making any other step faster would not have helped.
 */
export function criticalPath(steps: readonly StepTimes[], now: number): CriticalPath {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const endOf = ({ startedAt, endedAt }: StepTimes): number => endedAt ?? (startedAt === null ? -Infinity : now);
  const latest = (candidates: readonly StepTimes[]): StepTimes | undefined =>
    candidates
      .filter(({ startedAt }) => startedAt !== null)
      .reduce<StepTimes | undefined>(
        (last, step) => (last === undefined || endOf(step) > endOf(last) ? step : last),
        undefined,
      );

  const last = latest(steps);
  if (last === undefined) return { names: [], ms: 0 };
  const names = [last.name];
  const seen = new Set(names);
  let first = last;
  for (;;) {
    const dependencies = first.dependsOn.map((name) => byName.get(name)).filter((step) => step !== undefined);
    const before = latest(dependencies);
    // A name twice would be a cycle, which the service refuses; we must not hang on it either.
    if (before === undefined || seen.has(before.name)) break;
    names.unshift(before.name);
    seen.add(before.name);
    first = before;
  }
  return { names, ms: Math.max(0, endOf(last) - (first.startedAt ?? now)) };
}
