import type { Stage } from './stage/stage.js';

/** One row of the table of faults in docs/reliability.md. */
export interface Fault {
  readonly row: number;
  readonly name: string;
  /** What must hold beyond the invariants, in one line. */
  readonly check: string;
  /** What is counted: kills, jobs, seconds ... */
  readonly unit: string;
  /** The count of the full run. */
  readonly full: number;
  /** The count of the everyday run: that of `npm run chaos`, `npm test` and `npm run test:full`. */
  readonly everyday: number;
  /** Runs by itself because it measures times precisely or loads the machine heavily. */
  readonly alone?: true;
  /** Left out with `--short`, as in `npm run test:full`: other tests prove it there on a small scale. */
  readonly rare?: true;
  /** Why it cannot run here (a program that is not installed), or null. */
  unavailable?(): string | null | Promise<string | null>;
  /**
   * Causes the faults. The invariants are checked afterwards; anything else that is wrong goes to `stage.violation`.
   */
  run(stage: Stage, count: number): Promise<void>;
}

export interface Outcome {
  readonly row: number;
  readonly name: string;
  readonly unit: string;
  readonly count: number;
  readonly jobs: number;
  readonly seconds: number;
  readonly violations: readonly string[];
  readonly notes: readonly string[];
  /** Why it was not run, or null. */
  readonly notRun: string | null;
}
