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

export type Tone = 'blue' | 'amber' | 'green' | 'red' | 'grey' | 'plain';

interface Look {
  readonly shape: string;
  readonly tone: Tone;
  readonly word: string;
}

export const LOOKS: Readonly<Record<AnyState, Look>> = {
  pending: { shape: '○', tone: 'plain', word: 'pending' },
  scheduled: { shape: '◷', tone: 'plain', word: 'scheduled' },
  created: { shape: '○', tone: 'plain', word: 'created' },
  running: { shape: '▸', tone: 'blue', word: 'running' },
  retrying: { shape: '↻', tone: 'amber', word: 'retrying' },
  completed: { shape: '✓', tone: 'green', word: 'completed' },
  replayed: { shape: '↻', tone: 'green', word: 'replayed' },
  failed: { shape: '✗', tone: 'red', word: 'failed' },
  partially_failed: { shape: '◪', tone: 'red', word: 'partially failed' },
  timed_out: { shape: '✗', tone: 'red', word: 'timed out' },
  lease_expired: { shape: '✗', tone: 'red', word: 'lease expired' },
  cancelled: { shape: '⊘', tone: 'grey', word: 'cancelled' },
  skipped: { shape: '↷', tone: 'grey', word: 'skipped' },
  unmet: { shape: '⤼', tone: 'plain', word: 'skipped: its condition did not hold' },
  awaiting: { shape: '☾', tone: 'amber', word: 'waits for a signal' },
  released: { shape: '↩', tone: 'grey', word: 'released' },
  suspended: { shape: '☾', tone: 'plain', word: 'suspended' },
  stopped: { shape: '■', tone: 'grey', word: 'stopped' },
  paused: { shape: '‖', tone: 'amber', word: 'paused' },
};

/** The state of a job as counts and lists mean it: `pending` that is not due yet is `scheduled`. */
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
