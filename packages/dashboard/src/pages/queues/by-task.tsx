import type { QueueDetail } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from '../../components/links.js';
import { number } from '../../lib/format.js';
import { byState, HELD_STATES, sizeOf, type HeldState } from '../../lib/held.js';
import { LOOKS } from '../../lib/states.js';

type Share = QueueDetail['by_task'][number];

/** Servers of earlier versions count retries and what is scheduled as waiting. */
const heldOf = ({ waiting, scheduled = 0, retrying = 0, retrying_later = 0, running }: Partial<Share> & Share) => ({
  ...{ pending: waiting, scheduled, retrying, retrying_later, running },
});

/** From the left of the bar: what is under way, what is next, what comes later. */
const PARTS: readonly HeldState[] = ['running', 'waiting', 'retrying', 'scheduled'];

/** Who is hogging the queue: what it holds by task, the largest first. */
export function ByTask({ detail: { by_task, by_task_exact, queue } }: { readonly detail: QueueDetail }): ReactNode {
  const most = Math.max(1, ...by_task.map((task) => sizeOf(heldOf(task))));
  if (by_task.length === 0) return <p className="quiet">Nothing is waiting, scheduled or running.</p>;
  return (
    <>
      <ul className="by-task">
        {by_task.map((task) => {
          const held = byState(heldOf(task));
          const { task_name } = task;
          return (
            <li key={task_name}>
              <Link to="/jobs" search={{ queue, task: task_name }} className="cut">
                {task_name}
              </Link>
              <span className="share" aria-hidden="true">
                {PARTS.filter((state) => held[state] > 0).map((state) => (
                  <span
                    key={state}
                    className={`share-${state} tone-${toneOf(state)}`}
                    style={{ inlineSize: `${(100 * held[state]) / most}%` }}
                  />
                ))}
              </span>
              <span className="share-words figures">
                {HELD_STATES.filter((state) => held[state] > 0).map((state) => (
                  <span key={state}>
                    {number(held[state])} <span className="quiet">{state}</span>
                  </span>
                ))}
              </span>
            </li>
          );
        })}
      </ul>
      {!by_task_exact && (
        <p className="quiet">The queue is too long to count completely: these are shares of its first jobs.</p>
      )}
    </>
  );
}

const toneOf = (state: HeldState) => LOOKS[state === 'waiting' ? 'pending' : state].tone;
