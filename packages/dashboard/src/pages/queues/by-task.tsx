import type { QueueDetail } from '@millrace/contract';
import type { ReactNode } from 'react';
import { Link } from '../../components/links.js';
import { number } from '../../lib/format.js';

/** Older servers count what is scheduled as waiting. */
type TaskShare = QueueDetail['by_task'][number] & { readonly scheduled?: number };

/** Who is hogging the queue: waiting and running by task, the largest first. */
export function ByTask({ detail: { by_task, by_task_exact, queue } }: { readonly detail: QueueDetail }): ReactNode {
  const most = by_task.reduce((largest, { waiting, running }) => Math.max(largest, waiting + running), 1);
  if (by_task.length === 0) return <p className="quiet">Nothing is waiting, scheduled or running.</p>;
  return (
    <>
      <ul className="by-task">
        {(by_task as readonly TaskShare[]).map(({ task_name, waiting, scheduled = 0, running }) => (
          <li key={task_name}>
            <Link to="/jobs" search={{ queue, task: task_name }} className="cut">
              {task_name}
            </Link>
            <span className="share" aria-hidden="true">
              <span className="share-running" style={{ inlineSize: `${(100 * running) / most}%` }} />
              <span className="share-waiting" style={{ inlineSize: `${(100 * waiting) / most}%` }} />
            </span>
            <span className="figures numeric">
              {number(waiting)} <span className="quiet">waiting</span>
              {scheduled > 0 && (
                <>
                  , {number(scheduled)} <span className="quiet">scheduled</span>
                </>
              )}
              , {number(running)} <span className="quiet">running</span>
            </span>
          </li>
        ))}
      </ul>
      {!by_task_exact && (
        <p className="quiet">The queue is too long to count completely: these are shares of its first jobs.</p>
      )}
    </>
  );
}
