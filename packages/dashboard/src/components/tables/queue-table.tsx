import type { QueueDepth, Series } from '@millrace/contract';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Sparkline } from '../charts/chart.js';
import { FilterLink, QueueLink } from '../links.js';
import { State } from '../state.js';
import { Table, type Column } from './table.js';
import { number, roughly } from '../../lib/format.js';

/** How many queues get a line of their last hour: each is a request. */
const LINES_MAX = 12;
const LINE_POLL_MS = 15_000;

/** The queues, the fullest first. */
export function QueueTable({ queues }: { readonly queues: readonly QueueDepth[] }): ReactNode {
  const navigate = useNavigate();
  const rows = [...queues].sort((one, other) => size(other) - size(one) || one.queue.localeCompare(other.queue));
  const lined = new Set(rows.slice(0, LINES_MAX).map(({ queue }) => queue));
  const columns: Column<QueueDepth>[] = [
    {
      key: 'queue',
      title: 'Queue',
      cell: ({ queue, paused_at }) => (
        <>
          <QueueLink queue={queue} /> {paused_at !== null && <State state="paused" />}
        </>
      ),
    },
    { key: 'waiting', title: 'Waiting', numeric: true, cell: (row) => inJobs(row, 'pending', row.pending) },
    { key: 'scheduled', title: 'Scheduled', numeric: true, cell: (row) => number(row.scheduled) },
    { key: 'retrying', title: 'Retrying', numeric: true, cell: (row) => inJobs(row, 'retrying', row.retrying) },
    { key: 'running', title: 'Running', numeric: true, cell: (row) => inJobs(row, 'running', row.running) },
    {
      key: 'oldest',
      title: 'Oldest',
      numeric: true,
      cell: ({ oldest_pending_age_secs: age }) => (age === null ? '–' : roughly(age * 1000)),
    },
    {
      key: 'line',
      title: 'Last hour',
      hiddenOnCards: true,
      cell: ({ queue }) => (lined.has(queue) ? <LastHour queue={queue} /> : null),
    },
  ];
  return (
    <Table
      label="Queues"
      rows={rows}
      columns={columns}
      idOf={({ queue }) => queue}
      onOpen={({ queue }) => void navigate({ to: '/queues/$queue', params: { queue } })}
    />
  );
}

const size = ({ pending, scheduled, running }: QueueDepth): number => pending + scheduled + running;

const inJobs = ({ queue }: QueueDepth, status: string, n: number): ReactNode => (
  <FilterLink to="/jobs" filter={{ queue, status }}>
    {number(n)}
  </FilterLink>
);

/** Ends of the last hour, minute by minute. */
function LastHour({ queue }: { readonly queue: string }): ReactNode {
  const { data } = useRead<Series>('/series', { query: { queue }, pollMs: LINE_POLL_MS });
  if (data === undefined) return null;
  const { columns, step_secs } = data;
  const ended = columns.completed.map((completed, index) => completed + (columns.failed[index] ?? 0));
  const perMinute = inGroups(ended, Math.max(1, Math.round(60 / step_secs)));
  const total = ended.reduce((sum, n) => sum + n, 0);
  return <Sparkline values={perMinute} label={`${number(total)} jobs ended in the last hour`} />;
}

function inGroups(values: readonly number[], length: number): number[] {
  const groups: number[] = [];
  for (let at = 0; at < values.length; at += length) {
    groups.push(values.slice(at, at + length).reduce((sum, n) => sum + n, 0));
  }
  return groups;
}
