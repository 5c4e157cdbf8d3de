import type { Worker } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useNow } from '../../lib/clock.js';
import { rateWords } from '../../lib/flow.js';
import { duration, number, plural } from '../../lib/format.js';
import { isGone, rateOf, wholeWorkers, type WholeWorker } from '../../lib/workers.js';
import { Meter } from '../charts/meter.js';
import { JobLink, QueueLink } from '../links.js';
import { Time } from '../time.js';
import { Table, type Column } from './table.js';
import './worker-table.css';

interface WorkerTableProps {
  readonly workers: readonly Worker[];
  /** Where all of them work on the same queue. */
  readonly withoutQueue?: boolean;
  /** For operators, whose queues and jobs are those of all tenants and have no page. */
  readonly withoutLinks?: boolean;
  /** The one that somebody came for. */
  readonly chosen?: string | undefined;
}

/** One row for each worker: its queues, slots, what it runs now, and how the last hour went. Gone ones are folded. */
export function WorkerTable({ workers, withoutQueue, withoutLinks, chosen }: WorkerTableProps): ReactNode {
  const now = useNow();
  const all = wholeWorkers(workers, now);
  const there = all.filter((worker) => !isGone(worker, now));
  const gone = all.filter((worker) => isGone(worker, now));
  const columns = columnsOf(now, withoutQueue === true, withoutLinks === true);
  const table = (label: string, rows: readonly WholeWorker[]): ReactNode => (
    <Table
      label={label}
      rows={rows}
      columns={columns}
      idOf={({ id }) => id}
      rowClass={({ id }) => (id === chosen ? 'chosen-row' : undefined)}
    />
  );
  return (
    <>
      {there.length > 0 ? table('Workers', there) : <p className="quiet">No workers are connected.</p>}
      {gone.length > 0 && (
        <details className="gone-workers" open={gone.some(({ id }) => id === chosen)}>
          <summary>{plural(gone.length, 'worker')} gone: not seen for more than two minutes</summary>
          {table('Workers that are gone', gone)}
        </details>
      )}
    </>
  );
}

const columnsOf = (now: number, withoutQueue: boolean, withoutLinks: boolean): readonly Column<WholeWorker>[] => [
  { key: 'worker', title: 'Worker', cell: ({ id }) => <span className="mono">{id}</span> },
  ...(withoutQueue
    ? []
    : [{ key: 'queues', title: 'Queues', cell: ({ queues }: WholeWorker) => queueList(queues, withoutLinks) }]),
  { key: 'slots', title: 'Slots in use', cell: (worker) => <Slots worker={worker} /> },
  {
    key: 'runs',
    title: 'Runs now',
    cell: (worker) => <RunsNow worker={worker} withoutLinks={withoutLinks} />,
  },
  {
    key: 'rate',
    title: 'Rate, last hour',
    numeric: true,
    cell: (worker) => (
      <span title={`Since it was first seen, ${duration(now - worker.since)} ago, or within the hour`}>
        {rateWords(rateOf(worker, now))}
      </span>
    ),
  },
  { key: 'failed', title: 'Failed', numeric: true, cell: ({ failed }) => warned(failed) },
  { key: 'expired', title: 'Leases expired', numeric: true, cell: ({ expired }) => warned(expired) },
  { key: 'seen', title: 'Last seen', numeric: true, cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
];

const queueList = (queues: readonly string[], withoutLinks: boolean): ReactNode => (
  <span className="list">
    {queues.map((queue) => (
      <span key={queue}>{withoutLinks ? queue : <QueueLink queue={queue} />}</span>
    ))}
  </span>
);

/** Of whatever tenant the jobs are; nothing is known of how many one could hold that does not say. */
const Slots = ({ worker: { inUse, slots } }: { readonly worker: WholeWorker }): ReactNode =>
  slots === null ? <span className="quiet">–</span> : <Meter done={inUse} of={slots} />;

/** So many are named; the rest is a number. */
const NAMED = 3;

interface RunsNowProps {
  readonly worker: WholeWorker;
  readonly withoutLinks: boolean;
}

function RunsNow({ worker: { jobs, running, forOthers: others }, withoutLinks }: RunsNowProps): ReactNode {
  const forOthers = others > 0 && <span className="quiet">{number(others)} for other tenants</span>;
  if (running === 0) return others > 0 ? forOthers : <span className="quiet">nothing</span>;
  if (jobs === null) return <span className="quiet">{plural(running, 'job')}</span>;
  const named = jobs.slice(0, NAMED);
  return (
    <span className="list">
      {named.map(({ id, task_name, started_at }) => (
        <span key={id}>
          {withoutLinks ? task_name : <JobLink id={id}>{task_name}</JobLink>}{' '}
          <span className="quiet">
            <Time at={started_at} />
          </span>
        </span>
      ))}
      {running > named.length && <span className="quiet">and {number(running - named.length)} more</span>}
      {forOthers}
    </span>
  );
}

/** None is good news, and looks like it. */
const warned = (n: number): ReactNode => <span className={n === 0 ? 'zero' : 'warned'}>{number(n)}</span>;
