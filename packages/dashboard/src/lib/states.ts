import type {
  AttemptOutcome,
  JobState,
  JobSummary,
  OperationStatus,
  StepStatus,
  WorkflowStatus,
  WorkflowStep,
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
  /** The same as a character, where only text can stand. */
  readonly shape: string;
  readonly tone: Tone;
  readonly word: string;
}

export const LOOKS: Readonly<Record<AnyState, Look>> = {
  pending: { icon: 'circle', shape: '○', tone: 'plain', word: 'waiting' },
  scheduled: { icon: 'clock', shape: '◷', tone: 'plain', word: 'scheduled' },
  created: { icon: 'circle', shape: '○', tone: 'plain', word: 'created' },
  running: { icon: 'play', shape: '▸', tone: 'blue', word: 'running' },
  retrying: { icon: 'again', shape: '↻', tone: 'amber', word: 'retrying' },
  completed: { icon: 'check', shape: '✓', tone: 'green', word: 'completed' },
  replayed: { icon: 'again', shape: '↻', tone: 'green', word: 'replayed' },
  failed: { icon: 'cross', shape: '✗', tone: 'red', word: 'failed' },
  partially_failed: { icon: 'half', shape: '◪', tone: 'red', word: 'partially failed' },
  timed_out: { icon: 'cross', shape: '✗', tone: 'red', word: 'timed out' },
  lease_expired: { icon: 'cross', shape: '✗', tone: 'red', word: 'lease expired' },
  cancelled: { icon: 'none', shape: '⊘', tone: 'grey', word: 'cancelled' },
  skipped: { icon: 'skip', shape: '↷', tone: 'grey', word: 'skipped' },
  unmet: { icon: 'skip', shape: '⤼', tone: 'plain', word: 'skipped: its condition did not hold' },
  awaiting: { icon: 'moon', shape: '☾', tone: 'violet', word: 'waits for a signal' },
  released: { icon: 'back', shape: '↩', tone: 'grey', word: 'released' },
  suspended: { icon: 'moon', shape: '☾', tone: 'violet', word: 'suspended' },
  stopped: { icon: 'square', shape: '■', tone: 'grey', word: 'stopped' },
  paused: { icon: 'pause', shape: '‖', tone: 'amber', word: 'paused' },
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

export const hasEnded = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status);
