import type { Evidence, Stage } from './stage/stage.js';

/** What a worker need not do. */
export const GROUPS = ['durable'] as const;
export type Group = (typeof GROUPS)[number];

/** One row of the table: what the kit does, and when the worker passes. */
export type Scenario = {
  readonly number: number;
  readonly title: string;
  /** What it belongs to, if a worker may decline that. */
  readonly group?: Group;
  /** The criterion, as the table states it. */
  readonly passes: string;
} & (
  | {
      /** About how long it takes, to start the long ones first. */
      readonly seconds: number;
      /** Resolves if the worker passes; throws a Violation that says what was seen if it does not. */
      run(stage: Stage): Promise<void>;
    }
  | {
      /** Judges what the workers of all other scenarios printed. */
      judge(evidence: readonly Evidence[]): void;
    }
);
