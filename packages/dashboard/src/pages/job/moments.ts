import type { Attempt, Checkpoint, Job, WaitingFor } from '@millrace/contract';
import { LOOKS, type AnyState } from '../../lib/states.js';

/** Something that happened to a job, or will. */
export interface Moment {
  readonly key: string;
  readonly words: string;
  /** Null: now. */
  readonly at: string | null;
  readonly state: AnyState;
  /** The step whose result was stored then. */
  readonly checkpoint?: string;
}

/** In the order of time: created, attempts and the steps that they stored, and how it ended or goes on. */
export function momentsOf(job: Job, attempts: readonly Attempt[], checkpoints: readonly Checkpoint[] = []): Moment[] {
  const past = [...attempts.flatMap(ofAttempt), ...checkpoints.map(ofCheckpoint)];
  if (checkpoints.length > 0) past.sort((one, other) => instantOf(one) - instantOf(other));
  return [{ key: 'created', words: 'created', at: job.created_at, state: 'pending' }, ...past, ...endingOf(job)];
}

const instantOf = ({ at }: Moment): number => (at === null ? Infinity : Date.parse(at));

function ofAttempt({ number, outcome, started_at, ended_at }: Attempt): Moment[] {
  const began: Moment = { key: `${number} began`, words: `#${number} began`, at: started_at, state: 'running' };
  if (outcome === 'running') return [began];
  return [began, { key: `${number}`, words: `#${number} ${LOOKS[outcome].word}`, at: ended_at, state: outcome }];
}

const ofCheckpoint = ({ name, at }: Checkpoint): Moment => ({
  key: `checkpoint ${name}`,
  words: name,
  at,
  state: 'completed',
  checkpoint: name,
});

/** How it ended, or how it goes on. */
export function endingOf({ status, completed_at, scheduled_at, created_at, waiting_for }: Job): Moment[] {
  switch (status) {
    case 'failed':
      return [{ key: 'dead', words: 'dead letter', at: completed_at, state: 'failed' }];
    case 'cancelled':
      return [{ key: 'cancelled', words: 'cancelled', at: completed_at, state: 'cancelled' }];
    case 'running':
      return [{ key: 'now', words: 'runs', at: null, state: 'running' }];
    case 'completed':
      return [{ key: 'completed', words: 'completed', at: completed_at, state: 'completed' }];
    default: {
      if (waiting_for) {
        const words = endOfWait(waiting_for);
        return [{ key: 'due', words, at: scheduled_at, state: 'scheduled' }];
      }
      if (status === 'retrying') return [{ key: 'next', words: 'next attempt', at: scheduled_at, state: 'retrying' }];
      const later = Date.parse(scheduled_at) > Date.parse(created_at);
      return [{ key: 'due', words: 'due', at: scheduled_at, state: later ? 'scheduled' : 'pending' }];
    }
  }
}

function endOfWait({ signal, children }: WaitingFor): string {
  if (signal !== null) return `goes on without ${signal}`;
  return children === null ? 'wakes' : 'goes on without them';
}
