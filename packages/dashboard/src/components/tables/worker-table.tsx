import type { Worker } from '@millrace/contract';
import type { ReactNode } from 'react';
import { number } from '../../lib/format.js';
import { QueueLink } from '../links.js';
import { Table, type Column } from './table.js';
import { Time } from '../time.js';
import './worker-table.css';

interface WorkerTableProps {
  readonly workers: readonly Worker[];
  /** Where all of them work on the same queue. */
  readonly withoutQueue?: boolean;
  /** For operators, whose queues are those of all tenants and have no page. */
  readonly withoutLinks?: boolean;
}

/** Workers with what they did in the last hour; a worker on two queues has two rows. */
export function WorkerTable({ workers, withoutQueue = false, withoutLinks = false }: WorkerTableProps): ReactNode {
  const queue: Column<Worker> = {
    key: 'queue',
    title: 'Queue',
    cell: ({ queue_name }) => (withoutLinks ? queue_name : <QueueLink queue={queue_name} />),
  };
  const columns = [NAME, ...(withoutQueue ? [] : [queue]), ...FIGURES];
  return (
    <Table
      label="Workers"
      rows={workers}
      columns={columns}
      idOf={({ worker_id, queue_name }) => `${worker_id} ${queue_name}`}
    />
  );
}

const NAME: Column<Worker> = {
  key: 'worker',
  title: 'Worker',
  wide: true,
  cell: ({ worker_id }) => <span className="mono">{worker_id}</span>,
};

const FIGURES: readonly Column<Worker>[] = [
  { key: 'running', title: 'Running', numeric: true, cell: ({ running }) => number(running) },
  { key: 'completed', title: 'Completed', numeric: true, cell: ({ completed }) => number(completed) },
  { key: 'failed', title: 'Failed', numeric: true, cell: ({ failed }) => warned(failed) },
  { key: 'expired', title: 'Leases expired', numeric: true, cell: ({ expired }) => warned(expired) },
  { key: 'seen', title: 'Last seen', numeric: true, cell: ({ last_seen_at }) => <Time at={last_seen_at} /> },
];

/** None is good news, and looks like it. */
const warned = (n: number): ReactNode => <span className={n === 0 ? 'quiet' : 'warned'}>{number(n)}</span>;
