import type { QueueDepth, QueueDetail, Queues } from '@millrace/contract';
import type { ReactNode } from 'react';
import { isMissing, useRead } from '../../api/hooks.js';
import { Link } from '../../components/links.js';
import { ErrorNote, Loading } from '../../components/notes.js';
import { Page, Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { Time } from '../../components/time.js';
import { PauseSwitch } from '../../components/pausing/pause-switch.js';
import { pausedFor } from '../../lib/attention.js';
import { ByTask } from './by-task.js';
import { DepthTiles } from './depth-tiles.js';
import { NextJobs } from './next-jobs.js';
import { QueueLimits } from './queue-limits.js';
import { QueuePlots } from './queue-plots.js';
import { QueueWorkers } from './queue-workers.js';
import './queues.css';
import { useParam } from '../../lib/routing.js';

/** One queue from the inside: how much waits, how fast it goes, who works on it, and what comes next. */
export default function QueuePage(): ReactNode {
  const queue = useParam();
  const detail = useRead<QueueDetail>(`/queues/${encodeURIComponent(queue)}`, { keepPrevious: false });
  const isOlder = isMissing(detail.error);
  // A server that does not know the route still lists the depth.
  const list = useRead<Queues>('/queues', { enabled: isOlder });
  const known = detail.data;
  const depth = known ?? list.data?.queues.find((candidate) => candidate.queue === queue);
  const error = isOlder ? list.error : detail.error;
  return (
    <Page
      title={queue}
      aside={depth !== undefined && <Paused depth={depth} />}
      actions={
        <>
          {depth !== undefined && <PauseSwitch queue={queue} isPaused={depth.paused_at !== null} />}
          <Link to="/jobs" search={{ queue }} className="button small">
            Jobs of this queue
          </Link>
        </>
      }
    >
      {error !== null && <ErrorNote error={error} />}
      {depth === undefined && error === null && (isOlder && list.data !== undefined ? <Nothing /> : <Loading />)}
      {depth !== undefined && <DepthTiles depth={depth} slots={known?.slots ?? null} />}
      <QueuePlots queue={queue} />
      <div className="columns">
        <Panel title="By task" aside={<span className="quiet">what fills the queue</span>}>
          {known === undefined ? <Unknown isOlder={isOlder} /> : <ByTask detail={known} />}
        </Panel>
        <Panel title="Next" aside={<span className="quiet">in the order they are claimed</span>}>
          {known === undefined ? <Unknown isOlder={isOlder} /> : <NextJobs next={known.next} />}
        </Panel>
      </div>
      <QueueLimits queue={queue} detail={known ?? null} />
      <QueueWorkers queue={queue} />
    </Page>
  );
}

/** Since when, why and by whom; nothing if it is not. */
function Paused({ depth }: { readonly depth: QueueDepth }): ReactNode {
  const reason = pausedFor(depth);
  if (depth.paused_at === null) return null;
  return (
    <State state="paused">
      <span>
        paused <Time at={depth.paused_at} />
        {reason !== null && `: ${reason}`}
      </span>
    </State>
  );
}

const Nothing = (): ReactNode => <p className="quiet">The queue holds no unfinished job.</p>;

const Unknown = ({ isOlder }: { readonly isOlder: boolean }): ReactNode =>
  isOlder ? <p className="quiet">This server does not support this.</p> : <Loading />;
