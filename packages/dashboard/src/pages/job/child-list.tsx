import type { Job, JobSummary, JobSummaryPage } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { JobLink, QueueLink } from '../../components/links.js';
import { Panel } from '../../components/page.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { serverNow } from '../../lib/clock.js';
import { hasEnded, stateOf } from '../../lib/states.js';

const SHOWN = 50;
const POLL_MS = 5_000;

const COLUMNS: readonly Column<JobSummary>[] = [
  { key: 'state', title: 'State', cell: (job) => <State state={stateOf(job, serverNow())} /> },
  { key: 'task', title: 'Task', cell: ({ id, task_name }) => <JobLink id={id}>{task_name}</JobLink> },
  { key: 'queue', title: 'Queue', cell: ({ queue_name }) => <QueueLink queue={queue_name} /> },
  {
    key: 'error',
    title: 'Error',
    wide: true,
    cell: ({ error_message }) => error_message !== null && <span title={error_message}>{error_message}</span>,
  },
  { key: 'created', title: 'Created', numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** The jobs that a job has created, with their states; nothing if there are none. */
export function ChildList({ job }: { readonly job: Job }): ReactNode {
  const { data } = useRead<JobSummaryPage>('/jobs', {
    query: { parent_job_id: job.id, view: 'summary', limit: SHOWN },
    enabled: job.delivery_count > 0,
    pollMs: hasEnded(job.status) ? null : POLL_MS,
  });
  if (data === undefined || data.jobs.length === 0) return null;
  return (
    <Panel title="Children" aside={data.has_more === true && <span className="quiet">the newest {SHOWN}</span>}>
      <Table label="Children" rows={data.jobs} columns={COLUMNS} idOf={({ id }) => id} />
    </Panel>
  );
}
