/** Processes write what they noted so often: a step of a series is complete so long after its end. */
const WRITTEN_MS = 15_000;

/** How many steps of a series are complete. */
export const wholeSteps = (from: number, stepSecs: number, steps: number, now: number): number =>
  Math.min(steps, Math.max(0, Math.floor((now - WRITTEN_MS - from) / (stepSecs * 1000))));
