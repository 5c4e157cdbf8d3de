import type { StepStatus } from '@millrace/contract';
import type { ReactNode } from 'react';
import { number } from '../lib/format.js';
import { LOOKS } from '../lib/states.js';
import './state-bar.css';

/** How many steps of a workflow are in each state. */
export type StepCounts = Readonly<Record<StepStatus, number>>;

/** From the start of the bar: what is over, what is under way, what went wrong, what is to come. */
const ORDER: readonly StepStatus[] = ['completed', 'running', 'failed', 'cancelled', 'skipped', 'pending'];

/** The steps of a workflow by their states, each in its colour, and how many of them have completed. */
export function StepBar({ counts }: { readonly counts: StepCounts }): ReactNode {
  const shown = ORDER.filter((status) => counts[status] > 0);
  const total = shown.reduce((sum, status) => sum + counts[status], 0);
  const words = shown.map((status) => `${number(counts[status])} ${LOOKS[status].word}`).join(', ');
  return (
    <span className="state-bar" title={words}>
      <span className="state-bar-track" role="img" aria-label={words}>
        {shown.map((status) => (
          <span
            key={status}
            className={`tone-${LOOKS[status].tone}`}
            data-status={status}
            style={{ flexGrow: counts[status] }}
          />
        ))}
      </span>
      <span className="figures">
        {number(counts.completed)}/{number(total)}
      </span>
    </span>
  );
}

/** Counts the steps that are at hand. */
export function countSteps(steps: readonly { readonly status: StepStatus }[]): StepCounts {
  const counts = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
  for (const { status } of steps) counts[status] += 1;
  return counts;
}
