import type { Patch } from '../build-copy.js';

/** The service with one thing broken, and the rows that must catch it. */
export interface Mutant {
  readonly name: string;
  readonly patches: readonly Patch[];
  readonly rows: readonly number[];
  /** What they must report: a row that fails for another reason, such as a busy machine, has caught nothing. */
  readonly sign: RegExp;
  /** A multiple of the everyday count: some mistakes take luck to show. */
  readonly times?: number;
}

/** Code that takes its time, so that what may happen meanwhile does. */
export const pause = (ms: number): string => `await new Promise((resolve) => setTimeout(resolve, ${ms}));`;
