import type {
  AttemptOutcome,
  JobState,
  JobSummary,
  OperationStatus,
  StepStatus,
  WorkflowStatus,
  WorkflowStep,
  WorkflowStepDefinition,
} from '@millrace/contract';

/** Everything that has a state, in one vocabulary: a colour and a shape and a word. */
export type AnyState =
  | JobState
  | AttemptOutcome
  | WorkflowStatus
  | StepStatus
  | OperationStatus
  | 'paused'
  | 'replayed'
  | 'unmet'
  | 'awaiting';

export type Tone = 'blue' | 'amber' | 'green' | 'red' | 'violet' | 'grey' | 'accent' | 'plain';

/** The icons of states, by their names in components/icon.tsx. */
export type StateIcon =
  | 'circle'
  | 'clock'
  | 'play'
  | 'again'
  | 'check'
  | 'cross'
  | 'half'
  | 'none'
  | 'skip'
  | 'moon'
  | 'back'
  | 'square'
  | 'pause';

interface Look {
  readonly icon: StateIcon;
  readonly tone: Tone;
  readonly word: string;
}

export const LOOKS: Readonly<Record<AnyState, Look>> = {
  pending: { icon: 'circle', tone: 'plain', word: 'waiting' },
  scheduled: { icon: 'clock', tone: 'plain', word: 'scheduled' },
  created: { icon: 'circle', tone: 'plain', word: 'created' },
  running: { icon: 'play', tone: 'blue', word: 'running' },
  retrying: { icon: 'again', tone: 'amber', word: 'retrying' },
  completed: { icon: 'check', tone: 'green', word: 'completed' },
  replayed: { icon: 'again', tone: 'green', word: 'replayed' },
  failed: { icon: 'cross', tone: 'red', word: 'failed' },
  partially_failed: { icon: 'half', tone: 'red', word: 'partially failed' },
  timed_out: { icon: 'cross', tone: 'red', word: 'timed out' },
  lease_expired: { icon: 'cross', tone: 'red', word: 'lease expired' },
  cancelled: { icon: 'none', tone: 'grey', word: 'cancelled' },
  skipped: { icon: 'skip', tone: 'grey', word: 'skipped' },
  unmet: { icon: 'skip', tone: 'plain', word: 'skipped: its condition did not hold' },
  awaiting: { icon: 'moon', tone: 'violet', word: 'waits for a signal' },
  released: { icon: 'back', tone: 'grey', word: 'released' },
  suspended: { icon: 'moon', tone: 'violet', word: 'suspended' },
  stopped: { icon: 'square', tone: 'grey', word: 'stopped' },
  paused: { icon: 'pause', tone: 'amber', word: 'paused' },
};

/**
 * The state of a job as counts and lists mean it: `pending` that is not due yet is `scheduled`, and what is due is
 * shown as waiting.
 */
export function stateOf(job: Pick<JobSummary, 'status' | 'scheduled_at'>, now: number): JobState {
  return job.status === 'pending' && Date.parse(job.scheduled_at) > now ? 'scheduled' : job.status;
}

/** The state of a step: one that a condition skipped, waits for a signal or for its next attempt is told apart. */
export function stepState(
  { status, skipped_by: by, next_retry_at: retryAt }: Pick<WorkflowStep, 'status' | 'skipped_by' | 'next_retry_at'>,
  waits: boolean,
): AnyState {
  if (status === 'skipped' && by === 'condition') return 'unmet';
  if (status === 'running' && retryAt !== null) return 'retrying';
  return status === 'running' && waits ? 'awaiting' : status;
}

/** The states of the steps of a workflow by their names. */
export function stepStates(
  definitions: readonly WorkflowStepDefinition[],
  steps: readonly WorkflowStep[],
): ReadonlyMap<string, AnyState> {
  const waiting = new Set(definitions.filter(({ wait }) => wait).map(({ name }) => name));
  return new Map(steps.map((step) => [step.name, stepState(step, waiting.has(step.name))]));
}

export const hasEnded = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status);
