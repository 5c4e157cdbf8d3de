import type { QueueDetail } from '@millrace/contract';
import type { ReactNode } from 'react';
import { JobLink } from '../../components/links.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { number } from '../../lib/format.js';
import { go } from '../../lib/routing.js';

type Next = QueueDetail['next'][number];

/** So many say what comes; the rest is in the list of jobs. */
const SHOWN = 10;

/** What runs next. */
export function NextJobs({ next }: { readonly next: readonly Next[] }): ReactNode {
  if (next.length === 0) return <p className="quiet">Nothing is waiting.</p>;
  return (
    <Table
      label="Next jobs"
      rows={next.slice(0, SHOWN)}
      columns={COLUMNS}
      idOf={({ id }) => id}
      onOpen={({ id }) => go(`/jobs/${id}`)}
    />
  );
}

const COLUMNS: readonly Column<Next>[] = [
  { key: 'job', title: 'Job', cell: ({ id }) => <JobLink id={id} /> },
  { key: 'task', title: 'Task', wide: true, cell: ({ task_name }) => task_name },
  { key: 'priority', title: 'Priority', numeric: true, cell: ({ priority }) => number(priority) },
  { key: 'due', title: 'Due', numeric: true, cell: ({ scheduled_at }) => <Time at={scheduled_at} /> },
];
