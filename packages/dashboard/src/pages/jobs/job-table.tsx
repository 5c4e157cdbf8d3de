import type { JobSummary } from '@millrace/contract';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import { JobLink, QueueLink } from '../../components/links.js';
import { State } from '../../components/state.js';
import { Table, type Column, type Selection } from '../../components/tables/table.js';
import { Time } from '../../components/time.js';
import { useNow } from '../../lib/clock.js';
import { bytes, duration, number } from '../../lib/format.js';
import { stateOf } from '../../lib/states.js';

interface JobTableProps {
  readonly rows: readonly JobSummary[];
  readonly gone: ReadonlySet<string>;
  readonly selection: Selection | undefined;
}

/** A page of the list. Rows that have left the list are greyed. */
export function JobTable({ rows, gone, selection }: JobTableProps): ReactNode {
  const navigate = useNavigate();
  const now = useNow();
  const columns = useMemo(() => columnsAt(now, gone), [now, gone]);
  return (
    <Table
      label="Jobs"
      rows={rows}
      columns={columns}
      idOf={({ id }) => id}
      onOpen={({ id }) => void navigate({ to: '/jobs/$id', params: { id } })}
      selection={selection}
      rowClass={({ id }) => (gone.has(id) ? 'gone' : undefined)}
    />
  );
}

const columnsAt = (now: number, gone: ReadonlySet<string>): readonly Column<JobSummary>[] => [
  {
    key: 'state',
    title: 'State',
    cell: (job) =>
      gone.has(job.id) ? <span title="No longer in this list">… left</span> : <State state={stateOf(job, now)} />,
  },
  { key: 'task', title: 'Task', cell: ({ id, task_name }) => <JobLink id={id}>{task_name}</JobLink> },
  { key: 'queue', title: 'Queue', cell: ({ queue_name }) => <QueueLink queue={queue_name} /> },
  {
    key: 'error',
    title: 'Error',
    wide: true,
    cell: ({ error_message }) => error_message !== null && <span title={error_message}>{error_message}</span>,
  },
  {
    key: 'attempts',
    title: 'Attempts',
    numeric: true,
    cell: ({ delivery_count, config }) => `${number(delivery_count)}/${number(config.max_retries + 1)}`,
  },
  { key: 'took', title: 'Took', numeric: true, cell: (job) => tookOf(job, now) },
  {
    key: 'size',
    title: 'Payload',
    numeric: true,
    hiddenOnCards: true,
    cell: ({ payload_bytes }) => bytes(payload_bytes),
  },
  { key: 'created', title: 'Created', numeric: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** How long the latest attempt took, or has been taking. */
function tookOf({ started_at, completed_at, status }: JobSummary, now: number): string {
  if (started_at === null) return '–';
  const end = completed_at ?? (status === 'running' ? new Date(now).toISOString() : null);
  return end === null ? '–' : duration(Date.parse(end) - Date.parse(started_at));
}
