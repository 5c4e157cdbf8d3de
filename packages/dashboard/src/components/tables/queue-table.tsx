import type { QueueDepth, Series } from '@millrace/contract';
import { useMemo, type ReactNode } from 'react';
import { useRead, type Read } from '../../api/hooks.js';
import { serverNow } from '../../lib/clock.js';
import { pausedFor } from '../../lib/attention.js';
import { drainWords, flowOf, rateWords } from '../../lib/flow.js';
import { number, roughly } from '../../lib/format.js';
import { go } from '../../lib/routing.js';
import { sizeOf } from '../../lib/held.js';
import { Sparkline } from '../charts/chart.js';
import { barsOf } from '../charts/scale.js';
import { QueueLink, queuePlace } from '../links.js';
import { State } from '../state.js';
import { heldColumns } from './held-columns.js';
import { Table, type Column } from './table.js';

/** How many queues get their rates and a line of their last hour: each is a request. */
const LINES_MAX = 12;
const LINE_POLL_MS = 15_000;

interface QueueTableProps {
  readonly queues: readonly QueueDepth[];
  /** Fewer columns, where there is less room. */
  readonly isShort?: boolean;
}

/** The queues by name, so that none moves while it is looked at. */
export function QueueTable({ queues, isShort = false }: QueueTableProps): ReactNode {
  const rows = useMemo(() => [...queues].sort((one, other) => one.queue.localeCompare(other.queue)), [queues]);
  const lined = new Set(
    [...rows]
      .sort((one, other) => sizeOf(other) - sizeOf(one))
      .slice(0, LINES_MAX)
      .map(({ queue }) => queue),
  );
  const columns = [...COLUMNS, ...(isShort ? [] : RATES), LINE].map((column) => columnOf(column, lined));
  return (
    <Table
      label="Queues"
      rows={rows}
      columns={columns}
      idOf={({ queue }) => queue}
      onOpen={({ queue }) => go(queuePlace(queue))}
    />
  );
}

/** A column that may need the last hour of the queue. */
type QueueColumn = Column<QueueDepth> & { readonly ofHour?: (row: QueueDepth) => ReactNode };

const columnOf = ({ ofHour, ...column }: QueueColumn, lined: ReadonlySet<string>): Column<QueueDepth> =>
  ofHour === undefined ? column : { ...column, cell: (row) => (lined.has(row.queue) ? ofHour(row) : null) };

const NAME: QueueColumn = {
  key: 'queue',
  title: 'Queue',
  cell: (row) => (
    <span className="row">
      <QueueLink queue={row.queue} />
      {row.paused_at !== null && (
        <span title={pausedFor(row) ?? undefined}>
          <State state="paused" />
        </span>
      )}
      {sizeOf(row) === 0 && row.paused_at === null && <span className="quiet">idle</span>}
    </span>
  ),
};

const COLUMNS: readonly QueueColumn[] = [
  NAME,
  ...heldColumns<QueueDepth>(({ queue }) => ({ queue })),
  {
    key: 'oldest',
    title: 'Oldest due',
    numeric: true,
    cell: ({ oldest_pending_age_secs: age }) => (age === null ? <span className="quiet">–</span> : roughly(age * 1000)),
  },
];

const RATES: readonly QueueColumn[] = [
  {
    key: 'rate',
    title: 'In / out',
    numeric: true,
    cell: () => null,
    ofHour: ({ queue }) => <InAndOut queue={queue} />,
  },
  {
    key: 'drain',
    title: 'Empty in',
    numeric: true,
    cell: () => null,
    ofHour: ({ queue, pending }) => <Drain queue={queue} due={pending} />,
  },
];

const LINE: QueueColumn = {
  key: 'line',
  title: 'Last hour',
  hiddenOnCards: true,
  cell: () => null,
  ofHour: ({ queue }) => <LastHour queue={queue} />,
};

/** Every cell of a queue reads the same, which is asked for once. */
const useHour = (queue: string): Read<Series> => useRead<Series>('/series', { query: { queue }, pollMs: LINE_POLL_MS });

function InAndOut({ queue }: { readonly queue: string }): ReactNode {
  const { data } = useHour(queue);
  if (data === undefined) return null;
  const flow = flowOf(data, serverNow());
  if (flow.in === 0 && flow.out === 0) return <span className="quiet">–</span>;
  return (
    <span title="Jobs per minute, of the last five minutes">
      {rateWords(flow.in).replace('/min', '')} / {rateWords(flow.out)}
    </span>
  );
}

function Drain({ queue, due }: { readonly queue: string; readonly due: number }): ReactNode {
  const { data } = useHour(queue);
  if (data === undefined || due === 0) return <span className="quiet">–</span>;
  return drainWords(due, flowOf(data, serverNow()));
}

/** Ends of the last hour, minute by minute. */
function LastHour({ queue }: { readonly queue: string }): ReactNode {
  const { data } = useHour(queue);
  if (data === undefined) return null;
  const { columns, from, step_secs } = data;
  const ended = columns.completed.map((completed, index) => completed + (columns.failed[index] ?? 0));
  const { sums, whole } = barsOf(Date.parse(from), step_secs, ended.length, serverNow());
  const total = ended.reduce((sum, n) => sum + n, 0);
  return <Sparkline values={sums(ended).slice(...whole)} label={`${number(total)} jobs ended in the last hour`} />;
}
