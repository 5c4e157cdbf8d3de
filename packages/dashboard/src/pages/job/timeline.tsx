import type { Attempt, Job } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useNow } from '../../lib/clock.js';
import { duration, exact } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import { LOOKS, type AnyState } from '../../lib/states.js';

interface Moment {
  readonly key: string;
  readonly words: string;
  readonly at: string | null;
  readonly state: AnyState;
}

/** Only so many moments fit a line; those in between are counted. */
const SHOWN_EACH_END = 4;

/** created ─ 2 s ─ #1 failed ─ 60 s ─ #2 failed ─ dead letter */
export function Timeline({ job, attempts }: { readonly job: Job; readonly attempts: readonly Attempt[] }): ReactNode {
  const now = useNow();
  const zone = useZone();
  const moments = momentsOf(job, attempts);
  const left = Math.max(0, moments.length - 2 * SHOWN_EACH_END);
  const shown = left === 0 ? moments : [...moments.slice(0, SHOWN_EACH_END), ...moments.slice(-SHOWN_EACH_END)];
  return (
    <ol className="timeline" aria-label="What happened">
      {shown.map((moment, index) => {
        const before = shown[index - 1];
        const cut = left > 0 && index === SHOWN_EACH_END;
        return (
          <li key={moment.key} className={`tone-${LOOKS[moment.state].tone}`}>
            {before !== undefined && (
              <span className="gap figures">{cut ? `… ${left} more …` : gapOf(before, moment, now)}</span>
            )}
            <span className="moment" title={moment.at === null ? undefined : exact(moment.at, zone)}>
              <span className="shape" aria-hidden="true">
                {LOOKS[moment.state].shape}
              </span>{' '}
              {moment.words}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

const gapOf = (before: Moment, { at }: Moment, now: number): string => {
  if (before.at === null) return '';
  return duration(Math.max(0, (at === null ? now : Date.parse(at)) - Date.parse(before.at)));
};

export function momentsOf(job: Job, attempts: readonly Attempt[]): Moment[] {
  const moments: Moment[] = [{ key: 'created', words: 'created', at: job.created_at, state: 'pending' }];
  for (const { number, outcome, started_at, ended_at } of attempts) {
    moments.push({ key: `${number} began`, words: `#${number} began`, at: started_at, state: 'running' });
    if (outcome === 'running') continue;
    moments.push({ key: `${number}`, words: `#${number} ${LOOKS[outcome].word}`, at: ended_at, state: outcome });
  }
  if (job.status === 'failed')
    moments.push({ key: 'dead', words: 'dead letter', at: job.completed_at, state: 'failed' });
  else if (job.status === 'cancelled') {
    moments.push({ key: 'cancelled', words: 'cancelled', at: job.completed_at, state: 'cancelled' });
  } else if (job.status === 'running') moments.push({ key: 'now', words: 'runs', at: null, state: 'running' });
  else if (job.status === 'retrying') {
    moments.push({ key: 'next', words: 'next attempt', at: job.scheduled_at, state: 'retrying' });
  } else if (job.status === 'pending') {
    const later = Date.parse(job.scheduled_at) > Date.parse(job.created_at);
    moments.push({ key: 'due', words: 'due', at: job.scheduled_at, state: later ? 'scheduled' : 'pending' });
  }
  return moments;
}
