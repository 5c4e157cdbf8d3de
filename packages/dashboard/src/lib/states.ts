import type {
  AttemptOutcome,
  JobState,
  JobSummary,
  OperationStatus,
  StepStatus,
  WorkflowStatus,
} from '@millrace/contract';

/** Everything that has a state, in one vocabulary: a colour and a shape and a word. */
export type AnyState =
  JobState | AttemptOutcome | WorkflowStatus | StepStatus | OperationStatus | 'paused' | 'replayed';

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
  released: { shape: '↩', tone: 'grey', word: 'released' },
  suspended: { shape: '☾', tone: 'plain', word: 'suspended' },
  stopped: { shape: '■', tone: 'grey', word: 'stopped' },
  paused: { shape: '‖', tone: 'amber', word: 'paused' },
};

/** The state of a job as counts and lists mean it: `pending` that is not due yet is `scheduled`. */
export function stateOf(job: Pick<JobSummary, 'status' | 'scheduled_at'>, now: number): JobState {
  return job.status === 'pending' && Date.parse(job.scheduled_at) > now ? 'scheduled' : job.status;
}

export const hasEnded = (status: string): boolean => ['completed', 'failed', 'cancelled'].includes(status);
