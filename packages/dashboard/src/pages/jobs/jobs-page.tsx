import type { JobSummary, OperationFilter, Queues, Tasks } from '@millrace/contract';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useMemo, useState, type ReactNode } from 'react';
import type { Query } from '../../api/client.js';
import { useRead } from '../../api/hooks.js';
import { BulkDialog, isUnknown, useDryRun } from '../../components/dialogs/bulk.js';
import { SelectFilter, SpanFilter, spanMs, TextFilter } from '../../components/tables/filters.js';
import { JobLink, QueueLink } from '../../components/links.js';
import { Empty, ErrorNote, Loading } from '../../components/notes.js';
import { Page } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { State } from '../../components/state.js';
import { Table, type Column } from '../../components/tables/table.js';
import { ExactTime, Time } from '../../components/time.js';
import { useAddress, type Address } from '../../lib/address.js';
import { serverNow, useNow } from '../../lib/clock.js';
import { curlOf } from '../../api/curl.js';
import { atLeast, bytes, duration, number, plural } from '../../lib/format.js';
import { stateOf } from '../../lib/states.js';
import { useMayWrite } from '../../session/session.js';
import { jobQuery } from './job-query.js';
import { useLiveList } from './live-list.js';
import { useSelection, type RowSelection } from './selection.js';

const NewJob = lazy(() => import('./new-job.js'));

const STATES: readonly (readonly [string, string])[] = [
  ['pending,running,retrying', 'not ended'],
  ['pending', '○ pending or scheduled'],
  ['running', '▸ running'],
  ['retrying', '↻ retrying'],
  ['completed', '✓ completed'],
  ['failed', '✗ failed'],
  ['cancelled', '⊘ cancelled'],
  ['completed,failed,cancelled', 'ended'],
];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export default function JobsPage(): ReactNode {
  const [address, setAddress] = useAddress();
  const [live, setLive] = useState(true);
  const mayWrite = useMayWrite();
  const query = useJobQuery(address);
  const listKey = JSON.stringify({ ...query, cursor: undefined });
  const [rowIds, setRowIds] = useState<readonly string[]>([]);
  const selection = useSelection(rowIds, listKey);
  const list = useLiveList(query, live && selection.ids.length === 0);
  if (!sameIds(rowIds, list.rows)) setRowIds(list.rows.map(({ id }) => id));
  const { read } = list;
  return (
    <Page
      title="Jobs"
      actions={
        <>
          <button
            type="button"
            className="button"
            aria-pressed={live}
            onClick={() => setLive(!live)}
            title={live ? 'Looks again every two seconds' : 'Stands still'}
          >
            {!live ? '‖ paused' : selection.ids.length > 0 ? '‖ waits for the selection' : '● live'}
          </button>
          {mayWrite && (
            <button type="button" className="button primary" onClick={() => setAddress({ new: '1' })}>
              New job
            </button>
          )}
        </>
      }
    >
      <Filters isListShown={read.data !== undefined} />
      <div className="above-list">
        {selection.ids.length > 0 ? (
          <BulkBar selection={selection} address={address} query={query} />
        ) : list.fresh > 0 ? (
          <button type="button" className="button fresh" onClick={list.showFresh}>
            ↑ {list.freshIsMore ? `${list.fresh}+` : list.fresh} new
          </button>
        ) : (
          <span className="quiet">
            {live ? 'Newest first. New jobs are counted here until you ask for them.' : 'Newest first.'}
          </span>
        )}
      </div>
      {read.error !== null && <ErrorNote error={read.error} />}
      {read.data === undefined ? (
        read.error === null && <Loading />
      ) : (
        <div className={read.isPlaceholderData ? 'dimmed' : undefined}>
          <div className="panel">
            {list.rows.length === 0 ? (
              <NoJobs filtered={isFiltered(address)} more={read.data.data.has_more} />
            ) : (
              <JobTable rows={list.rows} gone={list.gone} selection={mayWrite ? selection : undefined} />
            )}
          </div>
          {read.data.data.searched_to !== undefined && (
            <p className="quiet">
              Searched back to <ExactTime at={read.data.data.searched_to} />; the next page searches on.
            </p>
          )}
          <Pager page={read.data.data} />
        </div>
      )}
      {address.new !== undefined && mayWrite && (
        <Suspense>
          <NewJob onClose={() => setAddress({ new: undefined, from: undefined })} />
        </Suspense>
      )}
    </Page>
  );
}

const sameIds = (ids: readonly string[], rows: readonly JobSummary[]): boolean =>
  ids.length === rows.length && rows.every(({ id }, index) => id === ids[index]);

const isFiltered = (address: Address): boolean =>
  ['status', 'queue', 'task', 'since', 'idempotency_key', 'workflow_id'].some((name) => address[name] !== undefined);

/** A span begins where it began when it was chosen. */
function useJobQuery(address: Address): Query {
  const { since } = address;
  const span = spanMs(since);
  const [began, setBegan] = useState<{ readonly since: string | undefined; readonly at: number }>({
    since,
    at: serverNow(),
  });
  if (began.since !== since) setBegan({ since, at: serverNow() });
  return jobQuery(address, span === undefined ? undefined : new Date(began.at - span).toISOString());
}

/** Suggestions wait until the list is there: counting queues would slow it down. */
function Filters({ isListShown }: { readonly isListShown: boolean }): ReactNode {
  const once = { pollMs: null, enabled: isListShown };
  const queues = useRead<Queues>('/queues', once).data?.data.queues ?? [];
  const tasks = useRead<Tasks>('/tasks', once).data?.data.tasks ?? [];
  const [, setAddress] = useAddress();
  const navigate = useNavigate();
  /** An id leads to its job; anything else is an idempotency key. */
  const find = (text: string): void => {
    if (UUID.test(text)) void navigate({ to: '/jobs/$id', params: { id: text } });
    else setAddress({ idempotency_key: text === '' ? undefined : text, cursor: undefined });
  };
  return (
    <div className="filters" role="search">
      <SelectFilter name="status" label="State" any="any state" options={STATES} />
      <TextFilter name="queue" label="Queue" placeholder="Queue" suggestions={queues.map(({ queue }) => queue)} first />
      <TextFilter name="task" label="Task" placeholder="Task" suggestions={tasks} />
      <SpanFilter />
      <TextFilter name="idempotency_key" label="Id or key" placeholder="Id or key" onSubmit={find} />
      <TextFilter name="workflow_id" label="Workflow" placeholder="Workflow id" />
    </div>
  );
}

interface BulkBarProps {
  readonly selection: RowSelection;
  readonly address: Address;
  readonly query: Query;
}

/** What can be done with the selected rows, or with everything that matches. */
function BulkBar({ selection, address, query }: BulkBarProps): ReactNode {
  const [open, setOpen] = useState(false);
  const [everything, setEverything] = useState(false);
  const filter = filterOf(query);
  const canAll = selection.all && filter !== null;
  const all = everything && canAll;
  const dry = useDryRun(canAll ? { action: 'cancel_jobs', filter } : null);
  // Without a number while it is being counted, and if it cannot be.
  const isCounted = dry !== null && !(dry instanceof Error) && !isUnknown(dry.matched);
  const matching = isCounted ? ` ${dry.matched.exact ? '' : 'of '}${atLeast(dry.matched)}` : '';
  const selected = isCounted ? `All that match are selected: ${atLeast(dry.matched)}` : 'All that match are selected';
  return (
    <div className="bulk" role="group" aria-label="Selected jobs">
      <span>{all ? selected : `${plural(selection.ids.length, 'job')} selected`}</span>
      {canAll && (
        <button type="button" className="button small" onClick={() => setEverything(!all)}>
          {all ? 'Only this page' : `Select all${matching} that match`}
        </button>
      )}
      <button type="button" className="button small danger" onClick={() => setOpen(true)}>
        Cancel…
      </button>
      <button type="button" className="button small" onClick={selection.clear}>
        Clear
      </button>
      {selection.all && filter === null && isFiltered(address) === false && (
        <span className="quiet">Set a filter to select everything that matches it.</span>
      )}
      {open && (
        <BulkDialog
          title="Cancel jobs"
          verb="Cancel"
          noun="job"
          danger
          operation={all ? { action: 'cancel_jobs', filter } : { action: 'cancel_jobs', ids: [...selection.ids] }}
          onClose={() => setOpen(false)}
          onDone={selection.clear}
        />
      )}
    </div>
  );
}

/** The filter of an operation has the names of the list's parameters; an empty one is refused. */
function filterOf(query: Query): OperationFilter | null {
  const names = ['status', 'queue', 'task', 'idempotency_key', 'workflow_id', 'created_after'];
  const parts = names.flatMap((name) => {
    const value = query[name];
    return value === undefined || value === '' ? [] : [[name, String(value)] as const];
  });
  return parts.length === 0 ? null : Object.fromEntries(parts);
}

interface JobTableProps {
  readonly rows: readonly JobSummary[];
  readonly gone: ReadonlySet<string>;
  readonly selection: RowSelection | undefined;
}

function JobTable({ rows, gone, selection }: JobTableProps): ReactNode {
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

function NoJobs({ filtered, more }: { readonly filtered: boolean; readonly more: boolean }): ReactNode {
  if (more) return <Empty>Nothing found so far. The next page searches on.</Empty>;
  if (filtered) return <Empty>No job matches these filters.</Empty>;
  const body = '{"task_name":"echo","payload":{"hello":"world"}}';
  return <Empty curl={curlOf({ method: 'POST', path: '/jobs', body })}>There are no jobs yet. This creates one:</Empty>;
}
