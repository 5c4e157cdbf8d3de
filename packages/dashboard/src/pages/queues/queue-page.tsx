import type { QueueDepth, QueueDetail, Queues } from '@millrace/contract';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { isMissing, useRead } from '../../api/hooks.js';
import { FilterLink } from '../../components/links.js';
import { ErrorNote, Loading } from '../../components/notes.js';
import { Page, Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { Time } from '../../components/time.js';
import { number, roughly } from '../../lib/format.js';
import { ByTask } from './by-task.js';
import { NextJobs } from './next-jobs.js';
import { QueueLimits } from './queue-limits.js';
import { QueuePlots } from './queue-plots.js';
import { QueueWorkers } from './queue-workers.js';
import './queues.css';

/** One queue from the inside: how much waits, how fast it goes, who works on it, and what comes next. */
export default function QueuePage(): ReactNode {
  const { queue = '' } = useParams({ strict: false });
  const detail = useRead<QueueDetail>(`/queues/${encodeURIComponent(queue)}`, { keepPrevious: false });
  const isOlder = isMissing(detail.error);
  // A server that does not know the route still lists the depth.
  const list = useRead<Queues>('/queues', { enabled: isOlder });
  const known = detail.data;
  const depth = known ?? list.data?.queues.find((candidate) => candidate.queue === queue);
  const pausedAt = depth?.paused_at ?? null;
  const error = isOlder ? list.error : detail.error;
  return (
    <Page
      title={queue}
      aside={pausedAt !== null && <Paused since={pausedAt} />}
      actions={
        <FilterLink to="/jobs" filter={{ queue }} className="button">
          Jobs of this queue
        </FilterLink>
      }
    >
      {error !== null && <ErrorNote error={error} />}
      {depth === undefined && error === null && (isOlder && list.data !== undefined ? <Nothing /> : <Loading />)}
      {depth !== undefined && <Depth depth={depth} slots={known?.slots ?? null} />}
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

const Paused = ({ since }: { readonly since: string }): ReactNode => (
  <State state="paused">
    <span>
      paused <Time at={since} />
    </span>
  </State>
);

const Nothing = (): ReactNode => <p className="quiet">The queue holds no unfinished job.</p>;

const Unknown = ({ isOlder }: { readonly isOlder: boolean }): ReactNode =>
  isOlder ? <p className="quiet">This server does not support this.</p> : <Loading />;

interface DepthProps {
  readonly depth: QueueDepth;
  readonly slots: QueueDetail['slots'];
}

function Depth({ depth, slots }: DepthProps): ReactNode {
  const tile = (name: string, status: string, n: number): ReactNode => (
    <li key={name}>
      <FilterLink to="/jobs" filter={{ queue: depth.queue, status }}>
        <span className="quiet">{name}</span>
        <span className="figure">{number(n)}</span>
      </FilterLink>
    </li>
  );
  const age = depth.oldest_pending_age_secs;
  return (
    <ul className="tiles" aria-label="What the queue holds">
      {tile('waiting', 'pending', depth.pending)}
      {tile('scheduled', 'pending', depth.scheduled)}
      {tile('retrying', 'retrying', depth.retrying)}
      {tile('running', 'running', depth.running)}
      <li>
        <span className="tile">
          <span className="quiet">oldest waiting</span>
          <span className="figure">{age === null ? '–' : roughly(age * 1000)}</span>
        </span>
      </li>
      {slots !== null && (
        <li>
          <span className="tile">
            <span className="quiet">slots in use</span>
            <span className="figure">
              {number(slots.in_use)} of {number(slots.offered)}
            </span>
          </span>
        </li>
      )}
      <li>
        <span className="tile">
          <span className="quiet">a worker last asked</span>
          <span className="figure">
            <Time at={depth.last_lease_at} otherwise="not today" />
          </span>
        </span>
      </li>
    </ul>
  );
}
