import type { FiringDecision } from '../../domain/cron-firing.js';

/** A schedule whose occurrence has come, and what was decided about it. */
export interface Due extends FiringDecision {
  readonly tenant: string;
  readonly id: string;
  /** Of the schedule as it was read: once it is replaced, the decision is void. */
  readonly revision: number;
  readonly occurrenceMs: number;
  /** When the firing was decided on. */
  readonly decidedMs: number;
  /** Whether it starts a workflow. */
  readonly isStart: boolean;
}
