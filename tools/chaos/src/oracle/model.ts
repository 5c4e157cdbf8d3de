import type { JobStatus } from '@millrace/contract';
import { isTerminal, nextState, type JobEvent } from '@millrace/server/testing';

/**
 * What one job may do, as far as its clients can tell: the table of domain/job-state.ts, with the lease of a running
 * job. This file decides whether an answer fits a state; replay.ts searches for the order in which calls took effect.
 */
export interface JobState {
  readonly status: JobStatus;
  /** The token of its lease; null if there is no lease, or nobody in this history was told the token. */
  readonly token: string | null;
  /** The earliest time (monotonic ms) at which the lease may have expired. */
  readonly heldUntil: number;
  readonly retries: number;
  readonly deliveries: number;
  /** The token it was completed under; 'unseen' for a completion outside this history. */
  readonly completedBy: string | null;
}

export interface JobRecord {
  readonly id: string;
  readonly status: JobStatus;
  readonly retries: number;
  readonly deliveries: number;
  readonly maxRetries: number;
  readonly queue: string;
  /** `result.by`, which every client of the suite sets. */
  readonly resultBy: string | null;
  readonly inWorkflow: boolean;
}

interface Timed {
  readonly startedAt: number;
  /** Infinity for a call without an answer. */
  readonly endedAt: number;
  /** False if there was no answer, or one that leaves open whether the call took effect. */
  readonly certain: boolean;
}

export type Step = Timed &
  (
    | {
        readonly kind: 'claim';
        readonly token: string;
        readonly secs: number;
        readonly retries: number;
        readonly deliveries: number;
      }
    | { readonly kind: 'complete'; readonly token: string; readonly status: number | null }
    | { readonly kind: 'fail'; readonly token: string; readonly status: number | null; readonly retryable: boolean }
    | {
        readonly kind: 'heartbeat';
        readonly token: string;
        readonly status: number | null;
        readonly secs: number;
        readonly seen: string | null;
      }
    | { readonly kind: 'cancel'; readonly status: number | null }
    | {
        readonly kind: 'get';
        readonly status: number | null;
        readonly seen: string | null;
        readonly retries: number;
        readonly deliveries: number;
      }
    | { readonly kind: 'end' }
  );

export const CREATED: JobState = {
  status: 'pending',
  token: null,
  heldUntil: Number.NEGATIVE_INFINITY,
  retries: 0,
  deliveries: 0,
  completedBy: null,
};

/** The state after an event, or null where the table has no such transition. */
export function after(state: JobState, event: JobEvent, change: Partial<JobState> = {}): JobState | null {
  const status = nextState(state.status, event);
  return status === null ? null : { ...state, token: null, heldUntil: Number.NEGATIVE_INFINITY, ...change, status };
}

/** The state after a step, or null if that state cannot have given the answer that the step got. */
export function applyStep(state: JobState, step: Step, record: JobRecord): JobState | null {
  switch (step.kind) {
    case 'claim':
      if (state.deliveries + 1 !== step.deliveries || state.retries !== step.retries) return null;
      return after(state, 'claim', {
        deliveries: step.deliveries,
        token: step.token,
        heldUntil: step.startedAt + step.secs * 1_000,
      });
    case 'complete':
      return settled(state, step, 204, () => after(state, 'complete', { completedBy: step.token }));
    case 'fail':
      return settled(state, step, 204, () => failed(state, step.retryable ? 'fail' : 'permanent', record));
    case 'heartbeat':
      if (step.status === 200 && step.seen !== 'running')
        return isTerminal(state.status) && state.status === step.seen ? state : null;
      return settled(state, step, 200, () => ({ ...state, heldUntil: step.startedAt + step.secs * 1_000 }), false);
    case 'cancel':
      if (!step.certain || step.status === 204) return after(state, 'cancel');
      return step.status === 409 && isTerminal(state.status) ? state : null;
    case 'get':
      if (!step.certain) return state;
      return step.status === 200 && sameCounts(state, step) && state.status === step.seen ? state : null;
    case 'end':
      return matchesRecord(state, record) ? state : null;
  }
}

/**
 * A report under a token: it takes effect while the lease holds, is accepted on a finished job, and is refused
 * otherwise.
 */
function settled(
  state: JobState,
  step: Extract<Step, { readonly token: string }> & { readonly status?: number | null },
  accepted: number,
  act: () => JobState | null,
  passesOnFinished = true,
): JobState | null {
  const holds = state.status === 'running' && state.token === step.token;
  if (!step.certain) return holds ? act() : null;
  if (step.status === accepted) return holds ? act() : passesOnFinished && isTerminal(state.status) ? state : null;
  return step.status === 409 && !holds && !isTerminal(state.status) ? state : null;
}

/** A failure or an expiry: what follows depends on the retry budget that is left. */
export function failed(state: JobState, how: 'fail' | 'expire' | 'permanent', record: JobRecord): JobState | null {
  if (how === 'permanent') return after(state, 'fail_permanently');
  if (state.retries >= record.maxRetries) return after(state, `${how}_without_budget`);
  return after(state, `${how}_with_budget`, { retries: state.retries + 1 });
}

const sameCounts = (state: JobState, seen: { readonly retries: number; readonly deliveries: number }): boolean =>
  state.retries === seen.retries && state.deliveries === seen.deliveries;

function matchesRecord(state: JobState, record: JobRecord): boolean {
  if (state.status !== record.status || !sameCounts(state, record)) return false;
  if (record.status !== 'completed' || record.resultBy === null || state.completedBy === 'unseen') return true;
  return state.completedBy === record.resultBy;
}
