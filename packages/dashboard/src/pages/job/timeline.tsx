import type { ReactNode } from 'react';
import { useNow } from '../../lib/clock.js';
import { duration, exact } from '../../lib/format.js';
import { useZone } from '../../lib/preferences.js';
import { LOOKS } from '../../lib/states.js';
import type { Moment } from './moments.js';

/** Only so many moments fit a line; those in between are counted. */
const SHOWN_EACH_END = 4;

/** created ─ 2 s ─ #1 failed ─ 60 s ─ #2 failed ─ dead letter */
export function Timeline({ moments }: { readonly moments: readonly Moment[] }): ReactNode {
  const now = useNow();
  const zone = useZone();
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
